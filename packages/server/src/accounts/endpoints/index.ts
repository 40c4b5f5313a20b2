/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { createOauthClient } from "./create-oauth-client.ts";
import { deleteOauthClient } from "./delete-oauth-client.ts";
import { getAccount } from "./get-account.ts";
import { getOauthClient } from "./get-oauth-client.ts";
import { listOauthClients } from "./list-oauth-clients.ts";
import { reviewOauthClient } from "./review-oauth-client.ts";
import { rotateOauthClientSecret } from "./rotate-oauth-client-secret.ts";
import { updateAccountSettings } from "./update-account.ts";
import { updateOauthClient } from "./update-oauth-client.ts";

export const accountEndpoints: readonly Endpoint[] = [
  getAccount,
  updateAccountSettings,
  listOauthClients,
  createOauthClient,
  getOauthClient,
  updateOauthClient,
  deleteOauthClient,
  rotateOauthClientSecret,
  reviewOauthClient,
];

export const accountTags: readonly OpenapiTag[] = [
  { name: "account", description: "The account, its package and its settings." },
  { name: "oauth-clients", description: "Programs of an account, and their secrets." },
];

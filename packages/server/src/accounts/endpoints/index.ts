/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { adminGetAccount } from "./admin-get-account.ts";
import { adminListAccounts } from "./admin-list-accounts.ts";
import { adminResumeAccount } from "./admin-resume-account.ts";
import { adminSetEarlyAccess } from "./admin-set-early-access.ts";
import { adminSetEntitlement } from "./admin-set-entitlement.ts";
import { adminSetPackage } from "./admin-set-package.ts";
import { adminSuspendAccount } from "./admin-suspend-account.ts";
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
  adminListAccounts,
  adminGetAccount,
  adminSuspendAccount,
  adminResumeAccount,
  adminSetPackage,
  adminSetEntitlement,
  adminSetEarlyAccess,
];

export const accountTags: readonly OpenapiTag[] = [
  { name: "account", description: "The account, its package and its settings." },
  { name: "oauth-clients", description: "Programs of an account, and their secrets." },
];

/** Every operation of this part, and the tags that group them in the API document. */

import type { Endpoint } from "../../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../../kernel/http/openapi.ts";
import { endOauthGrant } from "./end-oauth-grant.ts";
import { endSession } from "./end-session.ts";
import { getOauthGrant } from "./get-oauth-grant.ts";
import { getSession } from "./get-session.ts";
import { listOauthGrants } from "./list-oauth-grants.ts";
import { listSessions } from "./list-sessions.ts";
import { logIn } from "./log-in.ts";
import { logOut } from "./log-out.ts";
import { refreshSession } from "./refresh-session.ts";
import { requestSmsCode } from "./request-sms-code.ts";
import { reviewOauthGrant } from "./review-oauth-grant.ts";
import { stepUp } from "./step-up.ts";

export const sessionEndpoints: readonly Endpoint[] = [
  listOauthGrants,
  getOauthGrant,
  endOauthGrant,
  reviewOauthGrant,
  logIn,
  refreshSession,
  logOut,
  requestSmsCode,
  stepUp,
  listSessions,
  getSession,
  endSession,
];

export const sessionTags: readonly OpenapiTag[] = [
  { name: "auth", description: "Signing in and out." },
  { name: "oauth-grants", description: "Programs that may act for members, including agents." },
  { name: "sessions", description: "The sessions of a person." },
];

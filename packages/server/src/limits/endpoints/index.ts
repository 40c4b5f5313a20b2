/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { adminApproveLimitRequest } from "./admin-approve-limit-request.ts";
import { adminLiftBan } from "./admin-lift-ban.ts";
import { adminListBans } from "./admin-list-bans.ts";
import { adminListLimitRequests } from "./admin-list-limit-requests.ts";
import { adminListRateLimits } from "./admin-list-rate-limits.ts";
import { adminRejectLimitRequest } from "./admin-reject-limit-request.ts";
import { adminResetAccountLimit } from "./admin-reset-account-limit.ts";
import { adminSetAccountLimit } from "./admin-set-account-limit.ts";
import { adminSetBan } from "./admin-set-ban.ts";
import { listRateLimitRequests } from "./list-rate-limit-requests.ts";
import { listRateLimits } from "./list-rate-limits.ts";
import { requestRateLimit } from "./request-rate-limit.ts";

export const limitEndpoints: readonly Endpoint[] = [
  listRateLimits,
  requestRateLimit,
  listRateLimitRequests,
  adminListBans,
  adminSetBan,
  adminLiftBan,
  adminListRateLimits,
  adminSetAccountLimit,
  adminResetAccountLimit,
  adminListLimitRequests,
  adminApproveLimitRequest,
  adminRejectLimitRequest,
];

export const limitTags: readonly OpenapiTag[] = [
  { name: "rate-limits", description: "The limits of an account and what is left of them." },
];

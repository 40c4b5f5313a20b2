/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { approveApplication } from "./approve-application.ts";
import { liftAdminBan, listAdminBans, setBan } from "./bans.ts";
import { getAdminAccount } from "./get-account.ts";
import { getAdminApplication } from "./get-application.ts";
import { getOverview } from "./get-overview.ts";
import { listAdminAccounts } from "./list-accounts.ts";
import { listAdminApplications } from "./list-applications.ts";
import { listAudit } from "./list-audit.ts";
import { listAdminJobs } from "./list-jobs.ts";
import { listAdminMembers } from "./list-members.ts";
import {
  approveLimitRequest,
  listAdminLimitRequests,
  listAdminRateLimits,
  rejectLimitRequest,
  resetAccountRate,
  setAccountRate,
} from "./rate-limits.ts";
import { rejectApplication } from "./reject-application.ts";
import { resetSecondFactor } from "./reset-second-factor.ts";
import { resumeAccount } from "./resume-account.ts";
import { reviewApplication } from "./review-application.ts";
import { setEarlyAccess } from "./set-early-access.ts";
import { setAccountEntitlement } from "./set-entitlement.ts";
import { setAccountPackage } from "./set-package.ts";
import { suspendAccount } from "./suspend-account.ts";

export const adminEndpoints: readonly Endpoint[] = [
  getOverview,
  listAudit,
  listAdminAccounts,
  getAdminAccount,
  listAdminMembers,
  listAdminJobs,
  resetSecondFactor,
  suspendAccount,
  resumeAccount,
  setAccountPackage,
  setAccountEntitlement,
  setEarlyAccess,
  listAdminApplications,
  getAdminApplication,
  reviewApplication,
  approveApplication,
  rejectApplication,
  listAdminBans,
  setBan,
  liftAdminBan,
  listAdminRateLimits,
  setAccountRate,
  resetAccountRate,
  listAdminLimitRequests,
  approveLimitRequest,
  rejectLimitRequest,
];

export const adminTags: readonly OpenapiTag[] = [{ name: "admin", description: "For staff of the platform." }];

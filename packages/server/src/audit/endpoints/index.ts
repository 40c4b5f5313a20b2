/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { adminExportAudit } from "./admin-export-audit.ts";
import { adminGetChain } from "./admin-get-chain.ts";
import { adminListAudit } from "./admin-list-audit.ts";
import { adminResumeExport } from "./admin-resume-export.ts";
import { createShare } from "./create-share.ts";
import { eraseMember } from "./erase-member.ts";
import { exportAudit } from "./export-audit.ts";
import { exportShared } from "./export-shared.ts";
import { getChain } from "./get-chain.ts";
import { getShare } from "./get-share.ts";
import { getVerifier } from "./get-verifier.ts";
import { listEvents } from "./list-events.ts";
import { listSharedEvents } from "./list-shared-events.ts";
import { listShares } from "./list-shares.ts";
import { resumeExport } from "./resume-export.ts";
import { revokeShare } from "./revoke-share.ts";

export const auditEndpoints: readonly Endpoint[] = [
  listEvents,
  getChain,
  exportAudit,
  resumeExport,
  createShare,
  listShares,
  getShare,
  revokeShare,
  listSharedEvents,
  exportShared,
  eraseMember,
  getVerifier,
  adminListAudit,
  adminExportAudit,
  adminResumeExport,
  adminGetChain,
];

export const auditTags: readonly OpenapiTag[] = [
  { name: "audit", description: "Who did what, in a chain that proves itself." },
];

/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { adminExportAudit } from "./admin-export-audit.ts";
import { adminGetChain } from "./admin-get-chain.ts";
import { adminListAudit } from "./admin-list-audit.ts";
import { adminResumeExport } from "./admin-resume-export.ts";
import { exportAudit } from "./export-audit.ts";
import { getChain } from "./get-chain.ts";
import { getVerifier } from "./get-verifier.ts";
import { listEvents } from "./list-events.ts";
import { resumeExport } from "./resume-export.ts";

export const auditEndpoints: readonly Endpoint[] = [
  listEvents,
  getChain,
  exportAudit,
  resumeExport,
  getVerifier,
  adminListAudit,
  adminExportAudit,
  adminResumeExport,
  adminGetChain,
];

export const auditTags: readonly OpenapiTag[] = [
  { name: "audit", description: "Who did what, in a chain that proves itself." },
];

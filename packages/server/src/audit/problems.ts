/** The error codes of the audit trail. */

import { type ProblemDefinition, problem } from "../kernel/problems.ts";

// biome-ignore format: one code per line, so that the catalogue reads as a table
export const auditProblems = {
  share_revoked: problem(410, ["Share ended", "This share was revoked or has expired."], ["Paylaşım sona erdi", "Bu paylaşım geri alındı ya da süresi doldu."]),
} as const satisfies Record<string, ProblemDefinition>;

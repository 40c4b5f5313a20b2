/** The error codes of downloads. */

import { type ProblemDefinition, problem } from "../kernel/problems.ts";

// biome-ignore format: one code per line, so that the catalogue reads as a table
export const downloadProblems = {
  download_expired: problem(410, ["Download expired", "The download or its link has expired. Ask for a new one."], ["İndirmenin süresi doldu", "İndirmenin ya da bağlantısının süresi doldu. Yenisini isteyin."]),
} as const satisfies Record<string, ProblemDefinition>;

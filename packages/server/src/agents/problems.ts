/** The error codes of agents. */

import { type ProblemDefinition, problem } from "../kernel/problems.ts";

// biome-ignore format: one code per line, so that the catalogue reads as a table
export const agentProblems = {
  agent_required: problem(403, ["Agent required", "Register a signing key for this vault first (POST /v1/agents)."], ["Aracı gerekli", "Önce bu kasa için bir imza anahtarı kaydedin (POST /v1/agents)."]),
} as const satisfies Record<string, ProblemDefinition>;

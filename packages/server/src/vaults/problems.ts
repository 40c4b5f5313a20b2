/** The error codes of vaults and sources. */

import { type ProblemDefinition, problem } from "../kernel/problems.ts";

// biome-ignore format: one code per line, so that the catalogue reads as a table
export const vaultProblems = {
  writer_not_bound: problem(403, ["Writer not bound", "The source belongs to another writer. A manager or owner can bind this one to it."], ["Yazıcı bağlı değil", "Kaynak başka bir yazıcıya ait. Bir yönetici ya da hesap sahibi bu yazıcıyı bağlayabilir."]),
  quota_exceeded: problem(409, ["Quota exceeded", "The quota is used up."], ["Kota aşıldı", "Kota doldu."]),
} as const satisfies Record<string, ProblemDefinition>;

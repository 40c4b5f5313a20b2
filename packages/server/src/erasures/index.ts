/**
 * Erasures: the end of a vault. Owns the table `erasures` and the column `erasing_at` of `vaults`. Nouns:
 *
 * - an *erasure* destroys the keys of a vault, then its objects, then the rows that have names. It follows the deletion of a vault or of a
 *   taxpayer, and the closing of an account after 90 days.
 * - a *proof* says what was erased, when, and by whose decision: a JWS by the key of receipts.
 *
 * States of an erasure: `erasing` → `erased`.
 *
 * Invariants
 * - While the keys of a vault are there, its own signed chain (for a closing that of the default vault) decides whether it may be erased. What
 *   the database alone says destroys nothing.
 * - Nothing is erased that is held, locked or under a floor.
 * - What the service decided is sealed in the row: nothing is destroyed and no proof is signed by a row that somebody else wrote.
 * - Before the first key is destroyed the database and the account's record in the store say that the vault is erased. So no rebuild brings it
 *   back, and a process that ends in between is followed by the next run.
 * - A proof is signed only after the store was listed and has nothing of the vault.
 */

import { recurring } from "../kernel/jobs/index.ts";
import { checkErased, eraseVault, findVaultsToErase } from "./jobs.ts";

export { eraseRows } from "./row-store.ts";

const hourMs = 3_600_000;

export const erasureTasks = [eraseVault];
export const erasureRecurrences = [
  recurring(findVaultsToErase, { everyMs: hourMs }),
  recurring(checkErased, { everyMs: hourMs }),
];

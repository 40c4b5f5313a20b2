/** All SQL of requests to reset a second factor. Runs with row access to the account. */

import { sql } from "kysely";
import type { ReadTx, Tx } from "../../kernel/tx.ts";

export interface ResetRequest {
  readonly accountId: string;
  readonly personId: string;
  readonly staffId: string;
  readonly reason: string;
}

export interface ResetDecision {
  readonly id: string;
  readonly outcome: "done" | "canceled";
  readonly decidedBy: string | null;
}

/** Stores a request that waits; false when one waits for this person already. */
export async function insertReset(
  tx: Tx,
  request: ResetRequest & { readonly id: string; readonly effectiveAt: Date },
): Promise<boolean> {
  const inserted = await tx.db
    .insertInto("second_factor_resets")
    .values({
      id: request.id,
      account_id: request.accountId,
      person_id: request.personId,
      requested_by: request.staffId,
      reason: request.reason,
      created_at: tx.now,
      effective_at: request.effectiveAt,
      state: "waiting",
    })
    // A literal: the plan of a prepared statement must find the partial index without knowing its parameters.
    .onConflict((conflict) => conflict.column("person_id").where("state", "=", sql.lit("waiting")).doNothing())
    .executeTakeFirst();
  return inserted.numInsertedOrUpdatedRows === 1n;
}

/** Ends the waiting of a request; undefined when nothing waits under this id. */
export async function decideReset(tx: Tx, decision: ResetDecision) {
  return tx.db
    .updateTable("second_factor_resets")
    .set({ state: decision.outcome, decided_by: decision.decidedBy, decided_at: tx.now })
    .where("id", "=", decision.id)
    .where("state", "=", "waiting")
    .returning(["person_id", "account_id"])
    .executeTakeFirst();
}

/** The reset that waits for a member, if one does. */
export async function findWaitingReset(tx: ReadTx, accountId: string, personId: string): Promise<string | undefined> {
  const row = await tx.db
    .selectFrom("second_factor_resets")
    .select("id")
    .where("account_id", "=", accountId)
    .where("person_id", "=", personId)
    .where("state", "=", "waiting")
    .executeTakeFirst();
  return row?.id;
}

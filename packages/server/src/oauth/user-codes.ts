/**
 * Protection against guessing user codes. A code is one of 20⁸. One client address may send five wrong codes in ten
 * minutes. An attempt is counted before the code is looked up and subtracted when the code was right, in one transaction
 * that locks the row of the address. So parallel guesses wait for each other and get no more attempts.
 */

import type { Ctx } from "../kernel/http/endpoint.ts";
import type { Tx } from "../kernel/tx.ts";
import { addFailure, forgiveFailure } from "./store.ts";

/** The contract's five attempts … */
export const maxTries = 5;
/** … in the lifetime of a code. */
export const triesWindowMs = 10 * 60 * 1000;

/** Counts an attempt and returns whether it is allowed. */
export async function takeTry(ctx: Ctx, tx: Tx, addressKey: string): Promise<boolean> {
  const since = new Date(tx.now.getTime() - triesWindowMs);
  return (await addFailure(tx, idOf(ctx, addressKey), since)) <= maxTries;
}

/** Subtracts an attempt, because the code was right. */
export async function returnTry(ctx: Ctx, tx: Tx, addressKey: string): Promise<void> {
  await forgiveFailure(tx, idOf(ctx, addressKey));
}

function idOf(ctx: Ctx, addressKey: string): Buffer {
  return ctx.secrets.digest("oauth-id", `tries\n${addressKey}`);
}

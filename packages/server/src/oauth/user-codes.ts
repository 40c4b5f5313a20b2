/**
 * Guessing user codes. A code is one of 20⁸; from one address, five wrong ones in ten minutes are the end. A try is
 * taken before the code is looked up and given back when it was right, in one transaction that holds the address's row:
 * parallel guesses wait for each other and cannot have more.
 */

import type { Ctx } from "../kernel/http/endpoint.ts";
import type { Tx } from "../kernel/tx.ts";
import { addFailure, forgiveFailure } from "./store.ts";

/** The contract's five tries … */
export const maxTries = 5;
/** … in the time that a code lives. */
export const triesWindowMs = 10 * 60 * 1000;

/** Takes a try; whether there was one left. */
export async function takeTry(ctx: Ctx, tx: Tx, addressKey: string): Promise<boolean> {
  const since = new Date(tx.now.getTime() - triesWindowMs);
  return (await addFailure(tx, idOf(ctx, addressKey), since)) <= maxTries;
}

/** Gives a try back: the code was right. */
export async function returnTry(ctx: Ctx, tx: Tx, addressKey: string): Promise<void> {
  await forgiveFailure(tx, idOf(ctx, addressKey));
}

function idOf(ctx: Ctx, addressKey: string): Buffer {
  return ctx.secrets.digest("oauth-id", `tries\n${addressKey}`);
}

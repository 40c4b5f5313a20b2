/**
 * Read leases. Who reads a snapshot for hours, by the read protocol or in one large download, must not lose its content because the
 * snapshot's retention ends meanwhile. So reading sets a time until which retention leaves the snapshot alone, and goes on setting
 * it. All readers of a snapshot share one lease. Deleting a snapshot ends its readers: that is what the customer wants.
 */

import type { Ctx } from "../kernel/http/endpoint.ts";
import { Problem } from "../kernel/problems.ts";
import { contentProblem } from "./rules.ts";
import { lockSnapshot, type SnapshotRecord, setReadLease } from "./store.ts";

/** Longer than a client waits between two calls, and than the service may be away; retention waits for no longer after the last one. */
const leaseMs = 60 * 60_000;

/** A lease that lasts so long is not written again: one write per snapshot in a quarter of an hour. */
const freshMs = 45 * 60_000;

/** How often a stream looks at its lease. */
const streamCheckMs = 10 * 60_000;

/** Makes the lease last. Throws `not_found` and `snapshot_expired` for a snapshot that has gone meanwhile. */
export async function keepForReading(ctx: Ctx, record: SnapshotRecord): Promise<void> {
  const { id, account_id: accountId, read_until: until } = record;
  const now = ctx.clock.now().getTime();
  if (until !== null && until.getTime() >= now + freshMs) return;
  await ctx.tx({ kind: "account", accountId }, async (tx) => {
    const locked = await lockSnapshot(tx, accountId, id);
    if (locked === undefined) throw new Problem("not_found");
    const problem = contentProblem(locked.status);
    if (problem !== null) throw new Problem(problem);
    await setReadLease(tx, accountId, id, new Date(now + leaseMs));
  });
}

/** The same chunks. The snapshot has a lease while they are sent. */
export async function* keptWhileSent<T>(ctx: Ctx, record: SnapshotRecord, chunks: AsyncIterable<T>): AsyncGenerator<T> {
  await keepForReading(ctx, record);
  let checkedAt = ctx.clock.now().getTime();
  for await (const chunk of chunks) {
    yield chunk;
    const now = ctx.clock.now().getTime();
    if (now - checkedAt < streamCheckMs) continue;
    checkedAt = now;
    // A database that is away for some minutes does not end a download: the lease lasts longer. Nor does a deletion, which waits for
    // 72 hours.
    await keepForReading(ctx, { ...record, read_until: null }).catch(() => undefined);
  }
}

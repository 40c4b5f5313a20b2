/** `PUT /v1/snapshots/{id}/lock`: keeps a snapshot until a time. */

import { setRetention } from "@emanet/engine";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, timestamp } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { engineId, showSnapshot, snapshotId, snapshotShape, withStoreProblems } from "../../snapshots/index.ts";
import { lockCompleted, lockToKeep, ownerOnly } from "../operations.ts";
import { latestLock, maxLockYears } from "../rules.ts";
import { setLock } from "../snapshot-store.ts";

export const lockSnapshot = endpoint(
  {
    id: "snapshots.lock",
    method: "PUT",
    path: "/v1/snapshots/{id}/lock",
    tag: "retention",
    summary: "Lock a snapshot",
    description: `Nobody removes the snapshot before the lock ends, owners and staff included, and nobody shortens the lock. It can be extended; at most ${maxLockYears} years from now. Only owners, with a fresh second factor.`,
    access: ownerOnly,
    whileSuspended: true,
    stepUp: true,
    params: snapshotId,
    body: closed({ locked_until: timestamp("When the lock ends.") }, { title: "NewLock" }),
    replies: { 200: { description: "The snapshot.", body: snapshotShape } },
    errors: ["not_found", "state_conflict", "snapshot_expired", "retention_locked"],
  },
  async (ctx, { principal, params, body, language }) => {
    const { accountId, memberId } = principal;
    const until = new Date(body.locked_until);
    const now = ctx.clock.now();
    if (until <= now || until > latestLock(now))
      throw new Problem("validation_failed", { errors: [invalidField("/locked_until", "out_of_range", language)] });
    const record = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const locked = await lockToKeep(tx, principal, params.id);
      if (locked.locked_until !== null && locked.locked_until > until) throw new Problem("retention_locked");
      await withStoreProblems(async () => {
        const vault = await ctx.services.vaults.open(accountId, locked.vault_id);
        const note = { reason: "locked", by: memberId };
        const at = until.getTime();
        await setRetention(
          vault,
          engineId(params.id),
          (old) => ({ ...old, lockedUntil: Math.max(at, old.lockedUntil ?? 0) }),
          note,
        );
      });
      await setLock(tx, accountId, params.id, until);
      const targets = [
        { type: "snapshot", id: params.id },
        { type: "source", id: locked.source_id },
      ];
      tx.audit({ action: "snapshot.locked", targets, metadata: { locked_until: until.toISOString() } });
      return lockCompleted(tx, principal, params.id);
    });
    return { status: 200, body: showSnapshot(record, { language, seesStorage: true }) };
  },
);

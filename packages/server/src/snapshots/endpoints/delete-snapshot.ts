/** Deletes a snapshot, by a person with a fresh second factor. Its content stays until it cannot be undeleted any more. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { unprojectSnapshot } from "../../paths/index.ts";
import { assertOverFloor } from "../../vaults/index.ts";
import { shownWithVerification } from "../asked-verification.ts";
import { setChainExpiry } from "../chain-expiry.ts";
import { targetsOf } from "../lifecycle.ts";
import { mailAboutDeletion } from "../mail-about-deletion.ts";
import { withStoreProblems } from "../read-content.ts";
import { canBecome, undeleteMs } from "../rules.ts";
import { snapshotId } from "../shapes.ts";
import { deleteSnapshot as markDeleted } from "../store.ts";
import { lockOwnSnapshot } from "../visible-rows.ts";

export const deleteSnapshot = endpoint(
  {
    id: "snapshots.delete",
    method: "DELETE",
    path: "/v1/snapshots/{id}",
    aliases: ["/snapshots/{id}"],
    tag: "snapshots",
    summary: "Delete a snapshot",
    description:
      "The snapshot is not found any more. Its content stays for 72 hours, in which `snapshots.undelete` brings it back, and is removed afterwards. Owners are mailed. A snapshot with a lock or a legal hold, one that is younger than the `floor_days` of its policy, and an open upload are refused.",
    access: { kind: "account", scope: "snapshots:write", roles: ["owner", "manager"] },
    stepUp: true,
    ifMatch: "optional",
    params: snapshotId,
    replies: { 204: { description: "Deleted.", empty: true } },
    errors: ["state_conflict", "retention_locked", "legal_hold"],
  },
  async (ctx, { principal, params, language, requireMatch }) => {
    await ctx.tx(rowAccessOf(principal), async (tx) => {
      const record = await lockOwnSnapshot(tx, principal, params.id);
      requireMatch(await shownWithVerification(tx, record, { language, seesStorage: true }));
      if (!canBecome(record.status, "deleted")) throw new Problem("state_conflict");
      if (record.legal_hold) throw new Problem("legal_hold");
      if (record.locked_until !== null && record.locked_until > tx.now) throw new Problem("retention_locked");
      await assertOverFloor(tx, record);
      const { accountId } = principal;
      // The chain first: a deletion that it does not have removes nothing.
      if (record.status === "completed") {
        const goesAt = new Date(tx.now.getTime() + undeleteMs);
        const note = { reason: "deleted", by: principal.memberId };
        await withStoreProblems(() => setChainExpiry(ctx.services, record, goesAt, note));
      }
      await markDeleted(tx, accountId, record);
      await unprojectSnapshot(tx, { id: record.id, accountId, vaultId: record.vault_id });
      tx.audit({ action: "snapshot.deleted", targets: targetsOf(record.id, record.source_id) });
      await mailAboutDeletion(tx, ctx.random, record, principal.memberId);
    });
    return { status: 204 };
  },
);

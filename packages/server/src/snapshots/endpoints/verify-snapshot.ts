/** `POST /v1/snapshots/{id}/verify`: reads a snapshot back from the store and compares all of it, now. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { askedVerification } from "../asked-verification.ts";
import { verifySnapshot as verifyTask } from "../jobs.ts";
import { seesStorage } from "../new-upload.ts";
import { showSnapshot, snapshotId, snapshotShape } from "../shapes.ts";
import { setVerifyJob } from "../store.ts";
import { lockOwnSnapshot } from "../visible-rows.ts";

export const verifySnapshot = endpoint(
  {
    id: "snapshots.verify",
    method: "POST",
    path: "/v1/snapshots/{id}/verify",
    aliases: ["/snapshots/{id}/verify"],
    tag: "snapshots",
    summary: "Verify a snapshot",
    description:
      "Reads all content of a completed snapshot from the store and compares it, also what was verified before. It runs in the background: `verification` of the snapshot says how far it is, and `verified_at` changes when all is right. While one runs, another is not begun.",
    access: { kind: "account", scope: "snapshots:write" },
    withinVaults: true,
    limits: ["snapshots_verify"],
    params: snapshotId,
    replies: { 202: { description: "The snapshot, with the verification that runs.", body: snapshotShape } },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params, language }) => {
    const { accountId } = principal;
    const [record, verification] = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const before = await lockOwnSnapshot(tx, principal, params.id);
      if (before.status !== "completed") throw new Problem("state_conflict");
      const running = await askedVerification(tx, before);
      if (running !== null) return [before, running] as const;
      const { id, vault_id: vaultId } = before;
      const payload = { accountId, vaultId, snapshotId: id, isWhole: true };
      const jobId = await tx.job({ task: verifyTask, payload, key: `asked ${id}`, priority: "normal" });
      if (jobId !== undefined) await setVerifyJob(tx, accountId, id, jobId);
      tx.audit({ action: "snapshot.verification_asked", targets: [{ type: "snapshot", id }] });
      return [before, { status: "queued", checked_files: 0 }] as const;
    });
    const shown = showSnapshot(record, { language, seesStorage: seesStorage(principal) });
    return { status: 202, body: { ...shown, verification: { ...verification } } };
  },
);

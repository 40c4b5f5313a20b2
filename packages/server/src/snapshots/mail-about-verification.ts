/**
 * Staff are mailed when the content of a snapshot is not what its writer said: a client that lies, or a store that loses bytes. One
 * mail a day per writer; `GET /v1/admin/snapshots?failure=verification_failed` lists them all.
 */

import type { Random } from "../kernel/clock.ts";
import type { Tx } from "../kernel/tx.ts";
import { mailMessage, sendMessage } from "../messages/index.ts";
import { countFalseClaims, type SnapshotRecord } from "./store.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** Call it after the snapshot was marked. */
export async function mailAboutVerification(
  tx: Tx,
  { random, staffEmail }: { readonly random: Random; readonly staffEmail: string },
  record: SnapshotRecord,
): Promise<void> {
  const { id, account_id, created_by_kind: writer_kind, created_by_id: writer_id } = record;
  if ((await countFalseClaims(tx, record, new Date(tx.now.getTime() - dayMs))) > 1) return;
  const values = { snapshot_id: id, account_id, writer_kind, writer_id };
  const template = "verification_failed_staff";
  // Staff read Turkish, as in the other mails to them.
  const payload = mailMessage({ id: random.uuid(), to: staffEmail, language: "tr", template, values });
  await tx.job({ task: sendMessage, payload });
}

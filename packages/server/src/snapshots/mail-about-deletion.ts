/** The mails about a deletion: every owner learns who deleted which snapshot, and until when it can be undone. */

import { listOwnersAnd } from "../accounts/index.ts";
import type { Random } from "../kernel/clock.ts";
import type { Tx } from "../kernel/tx.ts";
import { mailMessage, sendMessage } from "../messages/index.ts";
import { undeleteMs } from "./rules.ts";
import type { SnapshotRecord } from "./store.ts";

export async function mailAboutDeletion(
  tx: Tx,
  random: Random,
  record: SnapshotRecord,
  memberId: string,
): Promise<void> {
  const people = await listOwnersAnd(tx, record.account_id, [memberId]);
  const values = {
    ...{
      snapshot_id: record.id,
      source: record.source_name,
      by: people.find(({ id }) => id === memberId)?.full_name ?? "",
    },
    made_at: (record.completed_at ?? record.created_at).toISOString(),
    until: new Date(tx.now.getTime() + undeleteMs).toISOString(),
  };
  for (const { role, state, email: to, language } of people) {
    if (role !== "owner" || state !== "active") continue;
    const payload = mailMessage({ id: random.uuid(), to, language, template: "snapshot_deleted", values });
    await tx.job({ task: sendMessage, payload });
  }
}

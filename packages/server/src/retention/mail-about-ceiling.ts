/** The mail about snapshots that a ceiling will remove, to every owner. */

import { listOwnersAnd } from "../accounts/index.ts";
import type { Random } from "../kernel/clock.ts";
import type { Tx } from "../kernel/tx.ts";
import { mailMessage, sendMessage } from "../messages/index.ts";
import { findSourceById } from "../vaults/index.ts";

interface Notice {
  readonly accountId: string;
  readonly sourceId: string;
  readonly count: number;
  readonly first: Date;
}

export async function mailAboutCeiling(tx: Tx, random: Random, notice: Notice): Promise<void> {
  const { accountId, sourceId } = notice;
  const source = (await findSourceById(tx, accountId, sourceId))?.name ?? "";
  const values = { source, source_id: sourceId, count: String(notice.count), first: notice.first.toISOString() };
  for (const { role, state, email: to, language } of await listOwnersAnd(tx, accountId, [])) {
    if (role !== "owner" || state !== "active") continue;
    const payload = mailMessage({ id: random.uuid(), to, language, template: "ceiling_notice", values });
    await tx.job({ task: sendMessage, payload });
  }
}

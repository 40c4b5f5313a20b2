/** Mails every owner about a kit: when it is ordered, and when somebody has fetched it. */

import { listOwnersAnd } from "../accounts/index.ts";
import type { Random } from "../kernel/clock.ts";
import type { Tx } from "../kernel/tx.ts";
import { mailMessage, sendMessage } from "../messages/index.ts";
import type { KitRow } from "./store.ts";

export async function mailAboutKit(
  tx: Tx,
  random: Random,
  template: "recovery_kit_ordered" | "recovery_kit_delivered",
  kit: KitRow,
  memberId: string,
): Promise<void> {
  const people = await listOwnersAnd(tx, kit.account_id, [memberId]);
  const by = people.find(({ id }) => id === memberId)?.full_name ?? "";
  const values = { kit_id: kit.id, vault_id: kit.vault_id, by, ready_at: kit.ready_at.toISOString() };
  for (const { role, state, email: to, language } of people) {
    if (role !== "owner" || state !== "active") continue;
    await tx.job({ task: sendMessage, payload: mailMessage({ id: random.uuid(), to, language, template, values }) });
  }
}

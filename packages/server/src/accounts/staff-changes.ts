/** What the changes of an account by staff share: each has a reason and is in the account's own audit chain. */

import type { Ctx } from "../kernel/http/endpoint.ts";
import { Problem } from "../kernel/problems.ts";
import type { Tx } from "../kernel/tx.ts";
import { accountSchema } from "./shapes.ts";
import { idParam } from "./staff-operations.ts";
import { type AccountRow, findAccount, lockAccount } from "./store.ts";

export const changing = {
  method: "POST",
  tag: "admin",
  access: { kind: "staff" },
  params: idParam,
  replies: { 200: { description: "The account.", body: accountSchema } },
} as const;

interface Act {
  readonly action: string;
  readonly metadata: Readonly<Record<string, string | boolean | null>>;
}

export async function changeAccount(
  ctx: Pick<Ctx, "tx">,
  accountId: string,
  { action, metadata }: Act,
  work: (tx: Tx, before: AccountRow) => Promise<void>,
): Promise<AccountRow> {
  return ctx.tx({ kind: "account", accountId }, async (tx) => {
    const before = await lockAccount(tx, accountId);
    if (before === undefined) throw new Problem("not_found");
    await work(tx, before);
    tx.audit({ action, targets: [{ type: "account", id: accountId }], metadata });
    return (await findAccount(tx, accountId)) ?? before;
  });
}

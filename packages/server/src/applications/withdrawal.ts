/** Withdrawing an application with the link of its first mail, as the API and the page do it. */

import { findLink, spendLink } from "../identity/index.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import { Problem } from "../kernel/problems.ts";
import { type ApplicationRow, findApplication, moveApplication } from "./store.ts";

/** The application that the link is about; `not_found` when the link is over. Spends nothing. */
export async function findWithdrawal(ctx: Ctx, token: string): Promise<ApplicationRow> {
  const application = await ctx.tx({ kind: "platform" }, async (tx) => {
    const link = await findLink(tx, ctx.secrets, token, ["withdrawal"]);
    return link.application_id === null ? undefined : findApplication(tx, link.application_id);
  });
  if (application === undefined) throw new Problem("not_found");
  return application;
}

/** Withdraws it and spends the link; the id. `state_conflict` once it is decided. */
export async function withdraw(ctx: Ctx, token: string): Promise<string> {
  return ctx.tx({ kind: "platform" }, async (tx) => {
    const link = await findLink(tx, ctx.secrets, token, ["withdrawal"], "lock");
    if (link.application_id === null) throw new Problem("not_found");
    const move = { from: ["submitted", "under_review"], to: "withdrawn", by: null, reason: null } as const;
    if ((await moveApplication(tx, link.application_id, move)) === undefined) throw new Problem("state_conflict");
    await spendLink(tx, link.id);
    tx.audit({ action: "application.withdrawn", targets: [{ type: "application", id: link.application_id }] });
    return link.application_id;
  });
}

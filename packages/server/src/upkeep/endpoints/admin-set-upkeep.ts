/** `POST /v1/admin/vaults/{id}/upkeep`: staff pause the upkeep of a vault, or let it go on. */

import { idParam, reasonSchema, staffOperation } from "../../accounts/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { accountOfVault, setPaused } from "../store.ts";

export const setUpkeep = endpoint(
  {
    ...staffOperation,
    id: "admin.set_upkeep",
    method: "POST",
    path: "/v1/admin/vaults/{id}/upkeep",
    summary: "Pause or resume the upkeep of a vault",
    description:
      "While it is paused nothing expires, nothing is removed, moved or scrubbed in the vault. Backups and restores go on. A run that has begun ends first. The customer sees it in the vault and in the audit trail.",
    params: idParam,
    body: closed(
      { paused: Type.Boolean({ description: "True pauses, false resumes." }), reason: reasonSchema },
      { title: "UpkeepChange" },
    ),
    replies: {
      200: {
        description: "As it is now.",
        body: closed({ paused: Type.Boolean({ description: "Whether it is paused." }) }, { title: "UpkeepPaused" }),
      },
    },
    errors: ["not_found"],
  },
  async (ctx, { params, body }) => {
    const accountId = await ctx.read({ kind: "staff" }, (tx) => accountOfVault(tx, params.id));
    if (accountId === undefined) throw new Problem("not_found");
    await ctx.tx({ kind: "account", accountId }, async (tx) => {
      await setPaused(tx, accountId, params.id, body.paused);
      const action = body.paused ? "vault.upkeep_paused" : "vault.upkeep_resumed";
      tx.audit({ action, targets: [{ type: "vault", id: params.id }], metadata: { reason: body.reason } });
    });
    return { status: 200, body: { paused: body.paused } };
  },
);

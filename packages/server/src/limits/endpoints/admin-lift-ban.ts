/** `POST /v1/admin/bans/{id}/lift`: staff lift a ban. */

import { idParam, reasonSchema, staffOperation } from "../../accounts/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { findBan, liftBan } from "../ban-store.ts";
import { banSchema, banShape } from "../shapes.ts";

export const adminLiftBan = endpoint(
  {
    ...staffOperation,
    id: "admin.lift_ban",
    method: "POST",
    path: "/v1/admin/bans/{id}/lift",
    summary: "Lift a ban",
    description: "Applies from the next request on; for an address it reaches other processes within about a second.",
    params: idParam,
    body: closed({ reason: reasonSchema }),
    replies: { 200: { description: "The ban.", body: banSchema } },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params, body }) => {
    const found = await ctx.tx({ kind: "staff" }, (tx) => findBan(tx, params.id));
    if (found === undefined) throw new Problem("not_found");
    const scope =
      found.account_id === null
        ? ({ kind: "platform" } as const)
        : ({ kind: "account", accountId: found.account_id } as const);
    const act = { staffId: principal.staffId, reason: body.reason };
    const row = await ctx.tx(scope, (tx) => liftBan(tx, params.id, act));
    if (row === undefined) throw new Problem("state_conflict");
    return { status: 200, body: banShape(row) };
  },
);

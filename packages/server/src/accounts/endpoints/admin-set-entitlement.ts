/** `POST /v1/admin/accounts/{id}/entitlements`: overrides an entitlement of the package. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, nullable, oneOf, Type } from "../../kernel/http/schema.ts";
import { accountShape } from "../shapes.ts";
import { changeAccount, changing } from "../staff-changes.ts";
import { reasonSchema } from "../staff-operations.ts";
import { setEntitlement } from "../store.ts";

export const adminSetEntitlement = endpoint(
  {
    ...changing,
    id: "admin.set_entitlement",
    path: "/v1/admin/accounts/{id}/entitlements",
    summary: "Switch an entitlement on or off",
    description: "Overrides the package for one account; null uses the package again.",
    body: closed({
      entitlement: oneOf(["api"], "Which."),
      enabled: nullable(Type.Boolean({ description: "On, off, or null to use the package." })),
      reason: reasonSchema,
    }),
  },
  async (ctx, { params, body }) => {
    const { reason, entitlement, enabled } = body;
    const act = { action: "account.entitlement_set", metadata: { reason, entitlement, enabled } };
    const row = await changeAccount(ctx, params.id, act, (tx, before) =>
      setEntitlement(tx, before.id, entitlement, enabled),
    );
    return { status: 200, body: accountShape(row) };
  },
);

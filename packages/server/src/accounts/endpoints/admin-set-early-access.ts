/** `POST /v1/admin/accounts/{id}/early-access`: limits that only watch. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { accountShape } from "../shapes.ts";
import { changeAccount, changing } from "../staff-changes.ts";
import { reasonSchema } from "../staff-operations.ts";
import { updateAccount } from "../store.ts";

export const adminSetEarlyAccess = endpoint(
  {
    ...changing,
    id: "admin.set_early_access",
    path: "/v1/admin/accounts/{id}/early-access",
    summary: "Switch early access on or off",
    description: "With early access, planned limits are counted but never refuse, and webhooks are off.",
    body: closed({ early_access: Type.Boolean({ description: "On or off." }), reason: reasonSchema }),
  },
  async (ctx, { params, body }) => {
    const metadata = { reason: body.reason, early_access: body.early_access };
    const row = await changeAccount(ctx, params.id, { action: "account.early_access_set", metadata }, (tx, before) =>
      updateAccount(tx, before.id, { early_access: body.early_access }),
    );
    return { status: 200, body: accountShape(row) };
  },
);

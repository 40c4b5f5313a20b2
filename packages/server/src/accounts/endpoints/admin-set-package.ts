/** `POST /v1/admin/accounts/{id}/package`: another package. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf } from "../../kernel/http/schema.ts";
import { accountShape, packages } from "../shapes.ts";
import { changeAccount, changing } from "../staff-changes.ts";
import { reasonSchema } from "../staff-operations.ts";
import { updateAccount } from "../store.ts";

export const adminSetPackage = endpoint(
  {
    ...changing,
    id: "admin.set_package",
    path: "/v1/admin/accounts/{id}/package",
    summary: "Set an account's package",
    description: "Applies from the account's next request on.",
    body: closed({ package: oneOf(packages, "The package."), reason: reasonSchema }),
  },
  async (ctx, { params, body }) => {
    const metadata = { reason: body.reason, package: body.package };
    const row = await changeAccount(ctx, params.id, { action: "account.package_set", metadata }, (tx, before) =>
      updateAccount(tx, before.id, { package: body.package }),
    );
    return { status: 200, body: accountShape(row) };
  },
);

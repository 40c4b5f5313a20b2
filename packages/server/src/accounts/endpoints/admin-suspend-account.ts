/** `POST /v1/admin/accounts/{id}/suspend`: no more writing. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { accountSuspended, suspensionCauses } from "../events.ts";
import { accountShape } from "../shapes.ts";
import { changeAccount, changing } from "../staff-changes.ts";
import { reasonSchema } from "../staff-operations.ts";
import { updateAccount } from "../store.ts";

export const adminSuspendAccount = endpoint(
  {
    ...changing,
    id: "admin.suspend_account",
    path: "/v1/admin/accounts/{id}/suspend",
    summary: "Suspend an account",
    description: "Its members can sign in, read and restore, but not write. Emits `account.suspended`.",
    body: closed({
      cause: oneOf(suspensionCauses, "The cause that is sent to the customer's systems."),
      reason: reasonSchema,
    }),
    errors: ["state_conflict"],
  },
  async (ctx, { params, body }) => {
    const metadata = { reason: body.reason, cause: body.cause };
    const row = await changeAccount(ctx, params.id, { action: "account.suspended", metadata }, async (tx, before) => {
      if (before.state !== "active") throw new Problem("state_conflict");
      await updateAccount(tx, before.id, { state: "suspended" });
      tx.emit(accountSuspended, { reason: body.cause });
    });
    return { status: 200, body: accountShape(row) };
  },
);

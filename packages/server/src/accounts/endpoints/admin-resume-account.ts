/** `POST /v1/admin/accounts/{id}/resume`: the end of a suspension. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { accountShape } from "../shapes.ts";
import { changeAccount, changing } from "../staff-changes.ts";
import { reasonSchema } from "../staff-operations.ts";
import { updateAccount } from "../store.ts";

export const adminResumeAccount = endpoint(
  {
    ...changing,
    id: "admin.resume_account",
    path: "/v1/admin/accounts/{id}/resume",
    summary: "Resume an account",
    description: "Ends a suspension.",
    body: closed({ reason: reasonSchema }),
    errors: ["state_conflict"],
  },
  async (ctx, { params, body }) => {
    const act = { action: "account.resumed", metadata: { reason: body.reason } };
    const row = await changeAccount(ctx, params.id, act, async (tx, before) => {
      if (before.state !== "suspended") throw new Problem("state_conflict");
      await updateAccount(tx, before.id, { state: "active" });
    });
    return { status: 200, body: accountShape(row) };
  },
);

/** `POST /v1/admin/accounts/{id}/resume`: the end of a suspension. */

import { accountShape, updateAccount } from "../../accounts/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { changeAccount, changing } from "../account-changes.ts";
import { reasonSchema } from "../shapes.ts";

export const resumeAccount = endpoint(
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

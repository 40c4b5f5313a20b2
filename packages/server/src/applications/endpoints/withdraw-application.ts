/** `POST /v1/applications/withdraw`: the applicant changes their mind, with the link of the first mail. */

import { findLink, linkToken, spendLink } from "../../identity/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { applicationAccepted } from "../shapes.ts";
import { moveApplication } from "../store.ts";

export const withdrawApplication = endpoint(
  {
    id: "applications.withdraw",
    method: "POST",
    path: "/v1/applications/withdraw",
    tag: "applications",
    summary: "Withdraw an application",
    description: "Spends the link of the mail that confirmed the application. Possible until it is decided.",
    access: { kind: "public" },
    limits: ["login_ip"],
    idempotency: "none",
    body: closed({ token: linkToken }, { title: "Withdrawal" }),
    replies: { 200: { description: "Withdrawn.", body: applicationAccepted } },
    errors: ["not_found", "state_conflict"],
  },
  async (ctx, { body }) => {
    const id = await ctx.tx({ kind: "platform" }, async (tx) => {
      const link = await findLink(tx, ctx.secrets, body.token, ["withdrawal"], "lock");
      if (link.application_id === null) throw new Problem("not_found");
      const move = { from: ["submitted", "under_review"], to: "withdrawn", by: null, reason: null } as const;
      if ((await moveApplication(tx, link.application_id, move)) === undefined) throw new Problem("state_conflict");
      await spendLink(tx, link.id);
      tx.audit({ action: "application.withdrawn", targets: [{ type: "application", id: link.application_id }] });
      return link.application_id;
    });
    return { status: 200, body: { id, status: "withdrawn" } };
  },
);

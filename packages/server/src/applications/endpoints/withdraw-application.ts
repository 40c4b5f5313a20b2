/** `POST /v1/applications/withdraw`: the applicant changes their mind, with the link of the first mail. */

import { linkToken } from "../../identity/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { applicationAccepted } from "../shapes.ts";
import { withdraw } from "../withdrawal.ts";

export const withdrawApplication = endpoint(
  {
    id: "applications.withdraw",
    method: "POST",
    path: "/v1/applications/withdraw",
    tag: "applications",
    summary: "Withdraw an application",
    description:
      "Uses up the link in the mail that confirmed the application. It works until the application is decided.",
    access: { kind: "public" },
    limits: ["login_ip"],
    idempotency: "none",
    body: closed({ token: linkToken }, { title: "Withdrawal" }),
    replies: { 200: { description: "Withdrawn.", body: applicationAccepted } },
    errors: ["not_found", "state_conflict"],
  },
  async (ctx, { body }) => ({ status: 200, body: { id: await withdraw(ctx, body.token), status: "withdrawn" } }),
);

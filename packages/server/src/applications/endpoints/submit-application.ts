/** `POST /applications`: a person or company applies to become a customer. */

import { makeLink } from "../../identity/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { mailMessage, sendMessage } from "../../messages/index.ts";
import { checkApplication } from "../rules.ts";
import { applicationAccepted, newApplication } from "../shapes.ts";
import { insertApplication } from "../store.ts";

/** The contract's maximum. Names and a note in letters that JSON may write as six characters each fit into it. */
const maxApplicationBytes = 16 * 1024;

export const submitApplication = endpoint(
  {
    id: "applications.submit",
    method: "POST",
    path: "/applications",
    aliases: ["/v1/applications"],
    tag: "applications",
    summary: "Submit an application",
    description:
      "Applies for an account. The answer is the same whether or not the e-mail address is known. The decision comes by mail. At most 5 an hour from one client address.",
    access: { kind: "public" },
    limits: ["applications"],
    notWhileBanned: true,
    body: newApplication,
    bodyLimitBytes: maxApplicationBytes,
    replies: { 202: { description: "The application was stored and will be reviewed.", body: applicationAccepted } },
  },
  async (ctx, { body, language }) => {
    const application = checkApplication(body, language);
    const id = ctx.random.uuid();
    await ctx.tx({ kind: "platform" }, async (tx) => {
      await insertApplication(tx, id, application, language);
      const facts = { kind: application.kind, package: application.package };
      tx.audit({ action: "application.submitted", targets: [{ type: "application", id }], metadata: facts });
      const link = await makeLink(tx, ctx, {
        purpose: "withdrawal",
        accountId: null,
        personId: null,
        applicationId: id,
      });
      const toApplicant = mailMessage({
        id: ctx.random.uuid(),
        to: application.email,
        language,
        template: "application_received",
        values: { application_id: id, link },
      });
      const toStaff = mailMessage({
        id: ctx.random.uuid(),
        to: ctx.settings.staffEmail,
        language: "tr",
        template: "application_received_staff",
        values: { application_id: id, ...facts },
      });
      await tx.job({ task: sendMessage, payload: toApplicant });
      await tx.job({ task: sendMessage, payload: toStaff });
    });
    return { status: 202, body: { id, status: "submitted" } };
  },
);

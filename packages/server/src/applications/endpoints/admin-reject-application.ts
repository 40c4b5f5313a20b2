/** `POST /v1/admin/applications/{id}/reject`: no, and why. */

import { idParam, reasonSchema, staffOperation } from "../../accounts/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { mailMessage, sendMessage } from "../../messages/index.ts";
import { auditDecision, moveOrRefuse, platform } from "../staff-decisions.ts";
import { applicationSchema, applicationShape } from "../staff-shapes.ts";

export const adminRejectApplication = endpoint(
  {
    ...staffOperation,
    id: "admin.reject_application",
    method: "POST",
    path: "/v1/admin/applications/{id}/reject",
    summary: "Reject an application",
    description: "The applicant gets a mail with exactly this reason.",
    params: idParam,
    body: closed({ reason: reasonSchema }),
    replies: { 200: { description: "The application.", body: applicationSchema } },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params, body }) => {
    const row = await ctx.tx(platform, async (tx) => {
      const from = ["submitted", "under_review"] as const;
      const moved = await moveOrRefuse(tx, params.id, {
        from,
        to: "rejected",
        by: principal.staffId,
        reason: body.reason,
      });
      const { email: to, language } = moved;
      const values = { application_id: moved.id, reason: body.reason };
      const mail = { id: ctx.random.uuid(), to, language };
      await tx.job({ task: sendMessage, payload: mailMessage({ ...mail, template: "application_rejected", values }) });
      auditDecision(tx, "application.rejected", params.id, body.reason);
      return moved;
    });
    return { status: 200, body: applicationShape(row) };
  },
);

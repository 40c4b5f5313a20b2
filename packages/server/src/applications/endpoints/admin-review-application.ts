/** `POST /v1/admin/applications/{id}/review`: marks the application as in review. */

import { idParam, reasonSchema, staffOperation } from "../../accounts/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { auditDecision, moveOrRefuse, platform } from "../staff-decisions.ts";
import { applicationSchema, applicationShape } from "../staff-shapes.ts";

export const adminReviewApplication = endpoint(
  {
    ...staffOperation,
    id: "admin.review_application",
    method: "POST",
    path: "/v1/admin/applications/{id}/review",
    summary: "Take an application into review",
    description: "Marks the application as being reviewed.",
    params: idParam,
    body: closed({ reason: reasonSchema }),
    replies: { 200: { description: "The application.", body: applicationSchema } },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params, body }) => {
    const row = await ctx.tx(platform, async (tx) => {
      const moved = await moveOrRefuse(tx, params.id, {
        from: ["submitted"],
        to: "under_review",
        by: principal.staffId,
        reason: body.reason,
      });
      auditDecision(tx, "application.review_started", params.id, body.reason);
      return moved;
    });
    return { status: 200, body: applicationShape(row) };
  },
);

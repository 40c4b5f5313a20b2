/** `POST /v1/admin/applications/{id}/review`: somebody is looking at it. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { auditDecision, moveOrRefuse, platform } from "../application-moves.ts";
import { applicationSchema, applicationShape, idParam, reasonSchema } from "../shapes.ts";

export const reviewApplication = endpoint(
  {
    id: "admin.review_application",
    method: "POST",
    path: "/v1/admin/applications/{id}/review",
    tag: "admin",
    summary: "Take an application into review",
    description: "Marks the application as being reviewed.",
    access: { kind: "staff" },
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

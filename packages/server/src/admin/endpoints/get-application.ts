/** `GET /v1/admin/applications/{id}`: one application. */

import { findApplication } from "../../applications/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { Problem } from "../../kernel/problems.ts";
import { applicationSchema, applicationShape, idParam } from "../shapes.ts";

export const getAdminApplication = endpoint(
  {
    id: "admin.get_application",
    method: "GET",
    path: "/v1/admin/applications/{id}",
    tag: "admin",
    summary: "Read an application",
    description: "One application.",
    access: { kind: "staff" },
    params: idParam,
    replies: { 200: { description: "The application.", body: applicationSchema } },
  },
  async (ctx, { params }) => {
    const row = await ctx.tx({ kind: "staff" }, (tx) => findApplication(tx, params.id));
    if (row === undefined) throw new Problem("not_found");
    return { status: 200, body: applicationShape(row) };
  },
);

/** `GET /v1/admin/applications/{id}`: one application. */

import { idParam, staffOperation } from "../../accounts/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { Problem } from "../../kernel/problems.ts";
import { applicationSchema, applicationShape } from "../staff-shapes.ts";
import { findApplication } from "../store.ts";

export const adminGetApplication = endpoint(
  {
    ...staffOperation,
    id: "admin.get_application",
    method: "GET",
    path: "/v1/admin/applications/{id}",
    summary: "Read an application",
    description: "One application.",
    params: idParam,
    replies: { 200: { description: "The application.", body: applicationSchema } },
  },
  async (ctx, { params }) => {
    const row = await ctx.read({ kind: "staff" }, (tx) => findApplication(tx, params.id));
    if (row === undefined) throw new Problem("not_found");
    return { status: 200, body: applicationShape(row) };
  },
);

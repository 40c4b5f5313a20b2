/** `GET /v1/admin/audit/export/{id}`: an export of staff again, or a part of it. */

import { idParam, staffOperation } from "../../accounts/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { findExport } from "../export-store.ts";
import { encodingHeader, exportDeadlineMs, exportHeaders, exportMediaTypes, resumeExport } from "../exports.ts";

export const adminResumeExport = endpoint(
  {
    ...staffOperation,
    id: "admin.resume_audit_export",
    method: "GET",
    path: "/v1/admin/audit/export/{id}",
    summary: "Resume an export of an audit chain",
    description: "The bytes of an export of staff of the last 24 hours, or with `Range` a part of them.",
    params: idParam,
    headers: closed(encodingHeader),
    deadlineMs: exportDeadlineMs,
    replies: {
      200: { description: "The whole export.", stream: exportMediaTypes, headers: exportHeaders },
      206: { description: "The part.", stream: exportMediaTypes, headers: exportHeaders },
    },
  },
  async (ctx, { params, headers, conditions }) => {
    const owner = { kind: "platform" } as const;
    const row = await ctx.read(owner, (tx) => findExport(tx, params.id));
    if (row === undefined) throw new Problem("not_found");
    return resumeExport(ctx, { row, owner, acceptEncoding: headers["Accept-Encoding"] }, conditions);
  },
);

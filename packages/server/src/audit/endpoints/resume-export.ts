/** `GET /v1/audit/export/{id}`: an export again, or a part of it. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, uuid } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { findExport } from "../export-store.ts";
import {
  encodingHeader,
  exportDeadlineMs,
  exportHeaders,
  exportMediaTypes,
  resumeExport as resume,
} from "../exports.ts";

export const resumeExport = endpoint(
  {
    id: "audit.resume_export",
    method: "GET",
    path: "/v1/audit/export/{id}",
    tag: "audit",
    summary: "Resume an export",
    description:
      "The bytes of an export of the last 24 hours, or with `Range` a part of them. Spends no export. The ETag changes when a name in it changes.",
    access: { kind: "account", scope: "audit:read" },
    params: closed({ id: uuid("`X-Export-Id` of the export.") }),
    headers: closed(encodingHeader),
    deadlineMs: exportDeadlineMs,
    replies: {
      200: { description: "The whole export.", stream: exportMediaTypes, headers: exportHeaders },
      206: { description: "The part.", stream: exportMediaTypes, headers: exportHeaders },
    },
  },
  async (ctx, { principal, params, headers, conditions }) => {
    const owner = { kind: "account", accountId: principal.accountId } as const;
    const row = await ctx.read(owner, (tx) => findExport(tx, params.id));
    if (row === undefined) throw new Problem("not_found");
    return resume(ctx, { row, owner, acceptEncoding: headers["Accept-Encoding"] }, conditions);
  },
);

/** `GET /v1/audit/export`: the audit trail of an account as a file that is checked without the service. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { exportFormats } from "../export-formats.ts";
import {
  beginExport,
  encodingHeader,
  exportDeadlineMs,
  exportHeaders,
  exportMediaTypes,
  sendExport,
} from "../exports.ts";
import { timeQuery } from "../shapes.ts";

export const exportAudit = endpoint(
  {
    id: "audit.export",
    method: "GET",
    path: "/v1/audit/export",
    tag: "audit",
    summary: "Export the audit trail",
    description: [
      "All records of a time, in the order of the chain and without gaps, as NDJSON, CSV, CEF or JSON. The first line has the signed",
      "checkpoint before them, the last line the one after them and a signed statement about the whole file. `/docs/verify-audit.mjs`",
      "checks it without the service. Five a day; a broken download is resumed by its `X-Export-Id` without spending another.",
    ].join(" "),
    access: { kind: "account", scope: "audit:read" },
    limits: ["audit_export"],
    query: closed({ ...timeQuery, format: Type.Optional(oneOf(exportFormats, "The format (`ndjson`).")) }),
    headers: closed(encodingHeader),
    deadlineMs: exportDeadlineMs,
    replies: { 200: { description: "The records.", stream: exportMediaTypes, headers: exportHeaders } },
  },
  async (ctx, { principal, query, headers }) => {
    const { format = "ndjson", from, to } = query;
    const owner = rowAccessOf(principal) as { kind: "account"; accountId: string };
    const row = await beginExport(ctx, { chain: principal.accountId, format, from, to, owner });
    return sendExport(ctx, { row, owner, acceptEncoding: headers["Accept-Encoding"] });
  },
);

/** `GET /v1/admin/audit/export`: a chain as a file, for staff. */

import { staffOperation } from "../../accounts/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { exportFormats } from "../export-formats.ts";
import {
  beginExport,
  encodingHeader,
  exportDeadlineMs,
  exportHeaders,
  exportMediaTypes,
  sendExport,
} from "../exports.ts";
import { findHead } from "../record-store.ts";
import { chainName, timeQuery } from "../shapes.ts";

export const adminExportAudit = endpoint(
  {
    ...staffOperation,
    id: "admin.export_audit",
    method: "GET",
    path: "/v1/admin/audit/export",
    summary: "Export an audit chain",
    description:
      "As `/v1/audit/export`, of the platform's chain or of an account. The export is recorded in that chain, where the customer sees it.",
    query: closed({
      ...timeQuery,
      chain: Type.Optional(chainName),
      format: Type.Optional(oneOf(exportFormats, "The format (`ndjson`).")),
    }),
    headers: closed(encodingHeader),
    deadlineMs: exportDeadlineMs,
    replies: { 200: { description: "The records.", stream: exportMediaTypes, headers: exportHeaders } },
    errors: ["not_found"],
  },
  async (ctx, { query, headers }) => {
    const { format = "ndjson", chain = "platform", from, to } = query;
    const owner = { kind: "platform" } as const;
    const head = await ctx.read({ kind: "staff" }, (tx) => findHead(tx, chain));
    if (head.seq === 0 && chain !== "platform") throw new Problem("not_found");
    const row = await beginExport(ctx, { chain, format, from, to, owner });
    return sendExport(ctx, { row, owner, acceptEncoding: headers["Accept-Encoding"] });
  },
);

/** `GET /v1/audit/shared/export`: the records of a share as a file that is checked without the service. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type } from "../../kernel/http/schema.ts";
import { exportFormats } from "../export-formats.ts";
import { encodingHeader, exportDeadlineMs, exportHeaders, exportMediaTypes } from "../exports.ts";
import { openFilters } from "../shapes.ts";
import { sendSharedExport } from "../shared-exports.ts";
import { requireShare } from "../shares.ts";

export const exportShared = endpoint(
  {
    id: "audit_shared.export",
    method: "GET",
    path: "/v1/audit/shared/export",
    tag: "audit",
    summary: "Export shared audit records",
    description: [
      "For an auditor with a share: its records as NDJSON, CSV, CEF or JSON, in the order of the chain. `/docs/verify-audit.mjs` checks the file",
      "without the service. Five a day for each share. It cannot be resumed. The export is a record of the account's audit trail.",
    ].join(" "),
    access: { kind: "share" },
    contentLimits: ["audit_shared_export"],
    query: closed({ ...openFilters, format: Type.Optional(oneOf(exportFormats, "The format (`ndjson`).")) }),
    headers: closed(encodingHeader),
    deadlineMs: exportDeadlineMs,
    replies: {
      200: {
        description: "The records.",
        stream: exportMediaTypes,
        headers: {
          "Content-Disposition": exportHeaders["Content-Disposition"],
          "X-Export-Id": exportHeaders["X-Export-Id"],
        },
      },
    },
  },
  async (ctx, { shareToken, query, headers }) => {
    const share = await requireShare(ctx, shareToken);
    await ctx.spend(["audit_shared_export"], { shareId: share.id });
    const { format = "ndjson", ...filter } = query;
    return sendSharedExport(ctx, { share, format, filter, acceptEncoding: headers["Accept-Encoding"] });
  },
);

/** A receipt: what a snapshot has, signed, so that it can be checked without the service. */

import { createHash } from "node:crypto";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { text } from "../../kernel/http/schema.ts";
import { downloadHeaders } from "../content-headers.ts";
import { openContent } from "../read-content.ts";
import { receiptOf } from "../receipt.ts";
import { snapshotId } from "../shapes.ts";

/** 64 MiB from a slow object store. */
const deadlineMs = 60_000;

export const readReceipt = endpoint(
  {
    id: "snapshots.read_receipt",
    method: "GET",
    path: "/v1/snapshots/{id}/receipt",
    aliases: ["/snapshots/{id}/receipt"],
    tag: "snapshots",
    summary: "Download the receipt of a snapshot",
    description: [
      "A compact JWS (RFC 7515, EdDSA) that says what was stored: ids, root hash, time and size, the place in the vault's chain,",
      "and the SHA-256 of each file if there are at most 100 and their bytes can be hashed at once. `verified` is true after everything was",
      "read back. It is checked without this service, with the keys at `/.well-known/emanet-keys.json`.",
    ].join(" "),
    access: { kind: "account", scope: "snapshots:read" },
    withinVaults: true,
    params: snapshotId,
    deadlineMs,
    replies: {
      200: {
        description: "The receipt.",
        stream: ["application/jose"],
        headers: {
          "Content-Disposition": text(300, { description: "`attachment` with a name.", examples: ["attachment"] }),
        },
      },
    },
    errors: ["state_conflict", "snapshot_expired"],
  },
  async (ctx, { principal, params }) => {
    const content = await openContent(ctx, principal, params.id);
    const payload = await receiptOf(ctx, content, ctx.signal);
    const receipt = Buffer.from(await ctx.services.receipts.sign({ typ: "emanet-receipt+jws" }, payload));
    return {
      status: 200,
      headers: { ...downloadHeaders(Buffer.from(`${params.id}.jws`)), "Content-Type": "application/jose" },
      body: {
        length: receipt.length,
        etag: `"${createHash("sha256").update(receipt).digest("base64url")}"`,
        async *chunks() {
          yield receipt;
        },
      },
    };
  },
);

/** `GET /v1/account/export`: everything that the service has about the account, as a file. */

import { maskedTaxId } from "../../accounts/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { text } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import type { ReadTx } from "../../kernel/tx.ts";
import { downloadHeaders } from "../../snapshots/index.ts";
import { exportedRows, exportedTypes } from "../export-store.ts";

const mediaType = "application/x-ndjson";
/** Of the lines. A later one only adds types and fields. */
const formatVersion = 1;
/** Between two chunks: longer than a slow database takes for a thousand rows. */
const deadlineMs = 60_000;

export const exportAccount = endpoint(
  {
    id: "account.export",
    method: "GET",
    path: "/v1/account/export",
    tag: "account",
    summary: "Export the account",
    description: [
      `Everything that the service has about the account, a JSON object a line: ${exportedTypes.map((type) => `\`${type}\``).join(", ")}.`,
      "The first line says what it is, the last one counts the others; a file without it is not whole. The content of a snapshot is",
      "`snapshots.read_archive`, its proof `snapshots.read_receipt`, the audit trail `audit.export`. Tax numbers are masked. Secrets are not in it.",
      "This also works while the account is closed. Owners only.",
    ].join(" "),
    access: { kind: "account", scope: "account:read", roles: ["owner"] },
    deadlineMs,
    replies: {
      200: {
        description: "The export.",
        stream: [mediaType],
        headers: {
          "Content-Disposition": text(300, { description: "`attachment` with a name.", examples: ["attachment"] }),
        },
      },
    },
  },
  async (ctx, { principal }) => {
    const { accountId } = principal;
    const access = rowAccessOf(principal);
    await ctx.tx(access, async (tx) =>
      tx.audit({ action: "account.exported", targets: [{ type: "account", id: accountId }] }),
    );
    const createdAt = ctx.clock.now().toISOString();
    const opening = { type: "export" as const, format: formatVersion, account_id: accountId, created_at: createdAt };
    return {
      status: 200,
      headers: { ...downloadHeaders(Buffer.from(`${accountId}.ndjson`)), "Content-Type": mediaType },
      body: {
        length: null,
        chunks: () => lines((work) => ctx.read(access, work), opening),
      },
    };
  },
);

interface Opening {
  readonly type: "export";
  readonly account_id: string;
}

async function* lines(
  read: <T>(work: (tx: ReadTx) => Promise<T>) => Promise<T>,
  opening: Opening,
): AsyncGenerator<Buffer> {
  yield lineOf(opening);
  const counts: Record<string, number> = {};
  for (const type of exportedTypes) {
    counts[type] = 0;
    for await (const rows of exportedRows(read, opening.account_id, type)) {
      counts[type] += rows.length;
      if (rows.length > 0) yield Buffer.concat(rows.map((row) => lineOf({ type, ...shown(row) })));
    }
  }
  yield lineOf({ type: "end", counts });
}

function lineOf(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

function shown(row: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (name === "tax_id") return [name, maskedTaxId(String(value))];
      return [name, Buffer.isBuffer(value) ? value.toString("hex") : value];
    }),
  );
}

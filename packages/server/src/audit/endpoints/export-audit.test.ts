import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { auditTest } from "../testing.ts";

const env = await auditTest({ after });
await env.act(6);

interface Line {
  readonly kind: string;
  readonly seq?: number;
  readonly occurred_at?: string;
  readonly first_seq?: number;
  readonly last_seq?: number;
  readonly records?: number;
  readonly checkpoint?: string;
  readonly statement?: string;
}

const decoded = (jws: string | undefined) => JSON.parse(Buffer.from(jws?.split(".")[1] ?? "", "base64url").toString());

async function lines(query = ""): Promise<Line[]> {
  const answer = await env.get(`/v1/audit/export${query}`);
  assert.equal(answer.status, 200, answer.body.toString());
  return answer.body
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

const seqs = (of: readonly Line[]) => of.filter(({ kind }) => kind === "record").map(({ seq }) => seq);

test("an export has all records in order, between two checkpoints, and a statement about all bytes", async () => {
  const found = await lines();
  assert.deepEqual(seqs(found), [1, 2, 3, 4, 5, 6]);
  const [opening, closing] = [found[0], found.at(-1)];
  assert.deepEqual([opening?.kind, opening?.first_seq, opening?.last_seq], ["opening", 1, 6]);
  assert.deepEqual([closing?.kind, closing?.records], ["closing", 6]);
  assert.deepEqual([decoded(opening?.checkpoint).seq, decoded(closing?.checkpoint).seq], [0, 6]);
  assert.equal(decoded(closing?.statement).records, 6);
});

test("an export is in the chain, with its format", async () => {
  const answer = await env.get("/v1/audit/export?format=csv");
  const [row] = await env.rows<{ metadata: { format: string }; id: string }>(
    "select metadata, targets->0->>'id' as id from emanet.audit_records where action = 'audit.exported' order by seq desc",
  );
  assert.deepEqual([row?.metadata.format, row?.id], ["csv", answer.headers["x-export-id"]]);
});

describe("the time", () => {
  test("from is included and to is not", async () => {
    const all = (await lines()).filter(({ kind }) => kind === "record");
    const found = await lines(`?from=${all[2]?.occurred_at}&to=${all[4]?.occurred_at}`);
    assert.deepEqual(seqs(found), [3, 4]);
    assert.deepEqual([decoded(found[0]?.checkpoint).seq, decoded(found.at(-1)?.checkpoint).seq], [2, 4]);
  });

  test("a time without records gives an export without records", async () => {
    assert.deepEqual(seqs(await lines("?from=2099-01-01T00:00:00Z")), []);
    assert.deepEqual(seqs(await lines("?to=2001-01-01T00:00:00Z")), []);
    assert.deepEqual(seqs(await lines("?from=2030-01-01T00:00:00Z&to=2020-01-01T00:00:00Z")), []);
  });

  test("an account without records has an export too", async () => {
    const other = await tokenFor(env.service);
    const answer = await env.service.send("GET", "/v1/audit/export", { headers: other.auth });
    assert.equal(answer.body.toString().trimEnd().split("\n").length, 2);
  });

  test("422: what is no time; 400: an unknown parameter", async () => {
    assert.equal((await env.get("/v1/audit/export?from=yesterday")).status, 422);
    assert.equal((await env.get("/v1/audit/export?form=csv")).status, 400);
    assert.equal((await env.get("/v1/audit/export?format=xml")).status, 422);
  });
});

test("gzip where it is asked for, with an ETag of its own", async () => {
  const plain = await env.get("/v1/audit/export");
  const { status, headers, body } = await env.get("/v1/audit/export", { "accept-encoding": "br, gzip" });
  assert.deepEqual([status, headers["content-encoding"]], [200, "gzip"]);
  assert.match(headers.etag ?? "", /-gzip"$/);
  assert.ok(body.includes("opening"), "the test client decodes it");
  assert.equal(plain.headers["content-encoding"], undefined);
  for (const refused of ["gzip;q=0", "identity", "br"])
    assert.equal(
      (await env.get("/v1/audit/export", { "accept-encoding": refused })).headers["content-encoding"],
      undefined,
    );
});

test("CSV: no cell begins like a formula, also where lines are divided at semicolons", async () => {
  const staff = await tokenFor(env.service, { as: "staff" });
  const reason = '=HYPERLINK("http://x");+1;-1;@SUM(A1)';
  const json = { early_access: true, reason };
  const done = await env.service.send("POST", `/v1/admin/accounts/${env.accountId}/early-access`, {
    ...{ json: { ...json }, headers: staff.auth },
  });
  assert.ok(done.status < 300, done.body.toString());
  const { body } = await env.get("/v1/audit/export?format=csv");
  const text = body.toString();
  assert.ok(text.includes("HYPERLINK"));
  for (const line of text.split("\r\n"))
    for (const separator of [",", ";", "\t"])
      for (const cell of cellsOf(line, separator)) assert.doesNotMatch(cell, /^[=+\-@\t\r]/, cell);
});

/** As a program does that takes a quote at the beginning of a cell alone for one. */
function cellsOf(line: string, separator: string): string[] {
  const quoted = separator === "," ? /"(?:[^"]|"")*"|[^,]*/g : new RegExp(`[^${separator}]+`, "g");
  return [...line.matchAll(quoted)].map(([cell]) => cell.replace(/^"|"$/g, ""));
}

test("CEF: bars, equals signs, backslashes and line breaks are escaped", async () => {
  const { body } = await env.get("/v1/audit/export?format=cef");
  const text = body.toString();
  for (const line of text.trimEnd().split("\n")) {
    assert.match(line, /^CEF:0\|Emanet\|Emanet\|1\|[a-z_.]+\|[^|]+\|\d+\|/);
    const extension = line.split("|").slice(7).join("|");
    for (const [, before = ""] of extension.matchAll(/(.?.?)=/g)) assert.match(before, /[A-Za-z0-9]$|\\$/);
  }
  assert.ok(text.includes("\\=HYPERLINK"));
});

test("429: the sixth export of a day; a resumed one spends nothing", async (context) => {
  const limited = await auditTest({ after: (done) => context.after(done) }, {});
  let id = "";
  for (let i = 0; i < 5; i++) {
    const answer = await limited.get("/v1/audit/export?format=json");
    assert.equal(answer.status, 200);
    id = answer.headers["x-export-id"] ?? "";
  }
  const refused = await limited.get("/v1/audit/export");
  assert.deepEqual([refused.status, refused.json?.policy], [429, "audit_export"]);
  assert.equal((await limited.get(`/v1/audit/export/${id}`)).status, 200);
});

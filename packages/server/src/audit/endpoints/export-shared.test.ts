import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, describe, test } from "node:test";
import { promisify } from "node:util";
import { Bad, readKeys, readWhole, verifyExport } from "../../../../../docs/audit/verify-audit.mjs";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { needs } from "../../testing/needs.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { auditTest, type MadeShare } from "../testing.ts";

const env = await auditTest({ after });
await env.act(5);
const staff = await tokenFor(env.service, { as: "staff" });
const reason = '=HYPERLINK("http://x");Ali Veli|/gizli.xlsx';
await env.service.send("POST", `/v1/admin/accounts/${env.accountId}/early-access`, {
  json: { early_access: true, reason },
  headers: staff.auth,
});
const keyText = (await env.service.send("GET", "/.well-known/emanet-keys.json")).body.toString();
const keys = readKeys(keyText);
const formats = ["ndjson", "csv", "cef", "json"] as const;

async function exported({ read }: MadeShare, query = ""): Promise<Buffer> {
  const answer = await read(`export?${query}`);
  assert.equal(answer.status, 200, answer.body.toString());
  return answer.body;
}

describe("in every format an export of a share", () => {
  for (const format of formats)
    test(`is good, and shows no person and no text: ${format}`, async () => {
      const whole = await env.share();
      const bytes = await exported(whole, `format=${format}`);
      const said = await verifyExport([bytes], keys);
      assert.deepEqual([said.selection, said.first, said.records], ["all", 1, said.last]);
      assert.ok(said.masked >= 6);
      const selected = await env.share({ filter: { action: "account.*" } });
      const some = await exported(selected, `format=${format}`);
      const chosen = await verifyExport([some], keys);
      assert.deepEqual([chosen.selection, chosen.records], ["filtered", 6]);
      const people = await env.rows<{ id: string }>(
        "select id from emanet.people union select id from emanet.sessions",
      );
      for (const text of [bytes, some].map(String)) {
        for (const { id } of people) assert.ok(!text.includes(id), "an id of a person or session");
        for (const hidden of ["Test Person", "Ali Veli", "gizli", "HYPERLINK", "127.0.0.0"])
          assert.ok(!text.includes(hidden), hidden);
      }
    });

  test("that shows all is good to its last hash", async () => {
    const open = await env.share({ show_persons: true, show_paths: true });
    for (const format of formats) {
      const bytes = await exported(open, `format=${format}`);
      assert.deepEqual((await verifyExport([bytes], keys)).masked, 0);
      assert.ok(bytes.includes("Test Person") && bytes.includes("HYPERLINK"), format);
    }
  });

  test("is bad after any change of a masked record, and the record is named", async () => {
    const bytes = (await exported(await env.share())).toString();
    const changed = bytes.replace("masked-", "masked_");
    await assert.rejects(verifyExport([Buffer.from(changed)], keys), (error) => {
      assert.ok(error instanceof Bad);
      assert.equal(error.place, "record 1");
      return true;
    });
  });

  test("is compared with the whole export: the same records, or the first other one is named", async () => {
    const share = await env.share({ filter: { action: "account.*" } });
    const bytes = await exported(share, "format=csv");
    const whole = await readWhole([(await env.get("/v1/audit/export?format=json")).body], keys);
    assert.equal((await verifyExport([bytes], keys, new Map(), { whole })).records, 6);
    const second = `${env.accountId} 2`;
    const other = new Map([...whole, [second, String(whole.get(second)).replace("account.changed", "account.closed")]]);
    const missing = new Map([...whole].filter(([name]) => name !== second));
    for (const [against, finding] of [
      [other, /record 2: the whole export has another record/],
      [missing, /record 2: the whole export does not have it/],
    ] as const)
      await assert.rejects(verifyExport([bytes], keys, new Map(), { whole: against }), finding);
    await assert.rejects(readWhole([bytes], keys), /it has masked records/);
  });

  test("is good for the verifier in Python too", async (context) => {
    const python = needs(context, "python");
    if (python === undefined) return;
    const folder = await temporaryFolder(context);
    const share = await env.share({ filter: { outcome: "success", action: "account.*" } });
    await writeFile(path.join(folder, "keys.json"), keyText);
    const script = path.resolve(import.meta.dirname, "../../../../../docs/audit/verify_audit.py");
    for (const format of formats) {
      const file = path.join(folder, `export.${format}`);
      await writeFile(file, await exported(share, `format=${format}`));
      const { stdout } = await promisify(execFile)(python, [script, file, path.join(folder, "keys.json")]);
      assert.match(stdout, /^good/);
    }
  });
});

test("the filter of the share holds, and a filter by a person does not say who", async () => {
  const share = await env.share({ filter: { actor_kind: "member", actor_id: staff.personId } });
  const lines = (await exported(share, "action=account.*&from=2001-01-01T00:00:00Z")).toString().trimEnd().split("\n");
  assert.equal(lines.length, 2);
  const opening = JSON.parse(lines[0] ?? "") as { filters: readonly Record<string, string>[] };
  assert.match(opening.filters[0]?.actor_id ?? "", /^masked-/);
  for (const query of ["actor_id=x", "target_id=x", "chain=platform"])
    assert.equal((await share.read(`export?${query}`)).status, 400, query);
});

test("gzip where it is asked for; the file is an attachment", async () => {
  const { headers, body } = await (await env.share()).read("export", { "accept-encoding": "gzip" });
  assert.equal(headers["content-encoding"], "gzip");
  assert.match(headers["content-disposition"] ?? "", /^attachment/);
  await verifyExport([body], keys);
});

test("the export is in the chain, with the share as its actor and the export's id", async () => {
  const share = await env.share();
  const { headers } = await share.read("export?format=csv");
  const found = await env.get(`/v1/audit/events?actor_id=${share.id}`);
  const [record] = listIn<{ action: string; targets: unknown }>(found, "data");
  assert.equal(record?.action, "audit.shared_exported");
  const targets = [
    { type: "audit_share", id: share.id },
    { type: "audit_export", id: headers["x-export-id"] },
  ];
  assert.deepEqual(record?.targets, targets);
  assert.equal((await env.get(`/v1/audit/export/${headers["x-export-id"]}`)).status, 404, "it cannot be resumed");
});

test("429: the sixth of a day, of each share and apart from those of the account", async (context) => {
  const limited = await auditTest({ after: (done) => context.after(done) }, {});
  const [one, two] = [await limited.share(), await limited.share()];
  for (let count = 0; count < 5; count += 1) assert.equal((await one.read("export")).status, 200);
  const refused = await one.read("export");
  assert.deepEqual([refused.status, refused.json?.policy], [429, "audit_shared_export"]);
  assert.equal((await two.read("export")).status, 200);
  assert.equal((await limited.get("/v1/audit/export")).status, 200);
});

/**
 * Sends personal data in every place of a request to the real service. None of it may appear in a log line, an error report,
 * a problem body or a metric. Mails to those people are not a leak.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import { type Cleanup, testDatabase } from "../../packages/server/src/testing/database.ts";
import type { TestAnswer } from "../../packages/server/src/testing/https.ts";
import {
  type ClientCall,
  clientOf,
  databaseUrl,
  sandboxSettings,
  startMain,
} from "../../packages/server/src/testing/main-process.ts";
import { exchangeRaw } from "../../packages/server/src/testing/raw.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";

const canaries = {
  name: "Fatma Kanarya",
  email: "kanarya.fatma@mukellef.example",
  phone: "+905321112233",
  vkn: "4540536920",
  tckn: "10000000146",
  company: "Kanarya Muhasebe",
  note: "Kanarya beyannamesi 2026",
  password: "Kanarya-Parola77",
  code: "482139",
  token: "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJrYW5hcnlhIn0.c2ln",
  fileName: "Kanarya-Beyannamesi-2026.pdf",
};

/** Each of these in an output is a leak. They are parts of the values, so that truncated values are found too. */
const traces = /kanarya|fatma|mukellef|5321112233|532 111|4540536920|10000000146|482139|eyJhbGci|beyanname|muhasebe/i;

function assertNoTrace(where: string, output: string): void {
  const at = output.search(traces);
  assert.equal(at, -1, at < 0 ? "" : `${where}: …${output.slice(Math.max(0, at - 120), at + 80)}…`);
}

const application = {
  kind: "accounting_office",
  full_name: canaries.name,
  email: canaries.email,
  phone: canaries.phone,
  company_name: canaries.company,
  tax_id: canaries.vkn,
  package: "accountant",
  note: canaries.note,
  consents: { terms: true, privacy: true },
};

/** A collector of error reports that stores everything it receives. */
async function startCollector(cleanup: Cleanup) {
  const received: string[] = [];
  const server = createServer(async (request, response) => {
    received.push(`${request.url} ${inspect(request.rawHeaders)} ${Buffer.concat(await request.toArray())}`);
    response.end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanup.after(async () => void server.close());
  return { received, dsn: `http://key@127.0.0.1:${(server.address() as AddressInfo).port}/1` };
}

const cleanup = inReverse({ after });
const database = await testDatabase(cleanup);
const collector = await startCollector(cleanup);
const folder = await temporaryFolder(cleanup);
const main = startMain(cleanup, {
  settings: {
    ...sandboxSettings(folder),
    EMANET_DATABASE_URL: databaseUrl(database),
    EMANET_ERROR_REPORTS_DSN: collector.dsn,
    EMANET_LOG_LEVEL: "debug",
  },
});
await main.ready();
const client = await clientOf(folder);

/** All answers except the documentation. */
const answers: { readonly sent: string; readonly answer: TestAnswer }[] = [];

async function send(method: string, target: string, call: ClientCall = {}): Promise<TestAnswer> {
  const first = await client.send(method, target, call);
  const second = await client.send(method, target, { ...call, http2: true });
  for (const answer of [first, second]) answers.push({ sent: `${method} ${target.slice(0, 60)}`, answer });
  return first;
}

async function until(condition: () => Promise<boolean> | boolean, what: string): Promise<void> {
  for (let waited = 0; waited < 60_000; waited += 50) {
    if (await condition()) return;
    await delay(50);
  }
  assert.fail(`not in time: ${what}`);
}

/** Each value alone, because its form can change how it is handled, and all values together. */
const values = [...Object.values(canaries), Object.values(canaries).join(" ")];
const all = values.at(-1) ?? "";

describe("personal data is sent", () => {
  const type = { "content-type": "application/json" };

  test("in bodies: accepted, refused for each field, malformed, too large, of the wrong type", async () => {
    assert.equal((await send("POST", "/applications", { json: application })).status, 202);
    for (const field of Object.keys(application)) {
      await send("POST", "/v1/applications", { json: { ...application, [field]: [all] } });
      await send("POST", "/applications", { json: { ...application, [field]: `${all}\u0000` } });
    }
    for (const value of values) {
      await send("POST", "/applications", { json: { ...application, [value]: value, consents: { [value]: true } } });
      await send("POST", "/applications", { body: `{"full_name": "${value}`, headers: type });
    }
    await send("POST", "/applications", { body: all, headers: { "content-type": `text/${encodeURIComponent(all)}` } });
    const large = JSON.stringify({ ...application, note: canaries.note.repeat(50_000) });
    assert.equal((await send("POST", "/applications", { body: large, headers: type })).status, 413);
  });

  test("in paths, queries and methods", async () => {
    for (const value of values) {
      const text = encodeURIComponent(value);
      await send("GET", `/${text}`);
      await send("GET", `/docs/errors/${text}`);
      await send("GET", `/health/live?${text}=${text}`);
    }
    const text = encodeURIComponent(all);
    for (const target of [
      `/v1/${text}/${text}`,
      `/v2/${text}`,
      `/health/ready?x=${text}&x=${text}`,
      `/docs/assets/${text}`,
      `/${text}%zz`,
      `/applications?email=${text}`,
      `/${text}${"a".repeat(17_000)}`,
    ]) {
      await send("GET", target);
      await send("DELETE", target);
    }
  });

  test("in headers", async () => {
    const names = [
      "accept",
      "accept-language",
      "authorization",
      "cookie",
      "if-match",
      "if-none-match",
      "content-encoding",
    ];
    // A client may choose a valid request id and sees it again; this one is not valid.
    for (const name of [...names, "user-agent", "referer", "origin", "x-forwarded-for", "forwarded", "x-request-id"]) {
      await send("GET", "/health/live", { headers: { [name]: all } });
    }
    for (const value of values) {
      await send("GET", "/health/live", { headers: { authorization: `Bearer ${value}` } });
      const key = { "idempotency-key": value.replaceAll(" ", "_") };
      await send("POST", "/applications", { json: application, headers: key });
      await send("POST", "/applications", { json: { ...application, note: "other" }, headers: key });
    }
    await send("POST", "/applications", { json: application, headers: { "idempotency-key": `${all}é` } });
  });

  test("in bytes that are not HTTP", async () => {
    for (const text of [
      `${all}\r\n\r\n`,
      `GET /${all} HTTP/1.1\r\nHost: ${all}\r\n${all}\r\n\r\n`,
      `GET / HTTP/1.1\r\nHost: x\r\nX: ${all}\r\nContent-Length: ${all}\r\n\r\n`,
      `CONNECT ${canaries.email}:443 HTTP/1.1\r\nHost: x\r\n\r\n`,
      `GET / HTTP/1.1\r\nHost: x\r\nX: ${all.repeat(2_000)}\r\n\r\n`,
      `POST /applications HTTP/1.1\r\nHost: x\r\nExpect: ${all}\r\nContent-Length: 5\r\n\r\nabcde`,
    ]) {
      const body = Buffer.from(await exchangeRaw(client, text, { endAfterMs: 5_000 }));
      assert.match(body.toString(), /^HTTP\/1\.1 4\d\d /);
      answers.push({ sent: text.slice(0, 40), answer: { status: 0, headers: {}, body } });
    }
  });

  test("in internal errors: a database error with the value in its message", async () => {
    await database.owner.query(`
      create function emanet.complain() returns trigger language plpgsql as $$
        begin raise exception 'refused % % %', new.email, new.full_name, new.tax_id using detail = new.phone; end $$;
      create trigger complain before insert on emanet.applications for each row execute function emanet.complain()`);
    for (const headers of [{}, { "idempotency-key": "fault" }]) {
      assert.equal((await send("POST", "/applications", { json: application, headers })).status, 500);
    }
    await database.owner.query("drop trigger complain on emanet.applications");
    await database.owner.query(
      "alter table emanet.applications add constraint x check (email_key <> 'kanarya.fatma@mukellef.example') not valid",
    );
    assert.equal((await send("POST", "/applications", { json: application })).status, 500);
    await database.owner.query("alter table emanet.applications drop constraint x");
    await until(() => collector.received.length >= 3, "error reports");
  });
});

describe("afterwards", () => {
  test("no answer contains any of it", () => {
    assert.ok(answers.length > 250);
    for (const { sent, answer } of answers) assertNoTrace(sent, `${inspect(answer.headers)} ${answer.body}`);
  });

  test("no metric contains any of it", async () => {
    const url = /^metrics (\S+)$/m.exec(main.stdout())?.[1] ?? "";
    const text = await (await fetch(url)).text();
    assert.match(text, /applications\.submit/);
    assertNoTrace("metrics", text);
  });

  test("no log line and no error report contains any of it", async () => {
    main.signal("SIGTERM");
    assert.equal((await main.ended()).code, 0);
    const log = main.stderr();
    assert.ok(log.split("\n").length > 250, "the requests were logged");
    assert.match(log, /"request_failed"/);
    assertNoTrace("log", withoutIds(log));
    assertNoTrace("standard output", main.stdout());
    assert.ok(collector.received.some((report) => report.includes("applications.submit")));
    for (const report of collector.received) assertNoTrace("error report", withoutIds(report));
  });
});

/** Removes ids, times and process numbers: their digits could match a value by chance. */
function withoutIds(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b/g, "")
    .replaceAll(/"(?:time|sent_at|timestamp)":[^,}]*/g, "");
}

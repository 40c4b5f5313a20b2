import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { firstBadRecord, inSystemScope, readChain } from "../../testing/audit-chain.ts";
import { startTestService, type TestCall, type TestService } from "../../testing/running.ts";

/** A service whose limit is out of the way, for everything but the limit. */
const service = await startTestService({ after }, { settings: { EMANET_LIMIT_APPLICATIONS: "100000/1" } });

const valid = {
  kind: "accounting_office",
  full_name: "Ayşe Örnek",
  email: "ayse@ornek.example",
  phone: "0532 000 00 00",
  company_name: "Örnek Mali Müşavirlik",
  tax_id: "1234567808",
  package: "accountant",
  note: "Öğleden sonra arayın.\nTeşekkürler.",
  consents: { terms: true, privacy: true, marketing: false },
};

const submit = (json: unknown, call: TestCall = {}, path = "/applications", on = service) =>
  on.send("POST", path, { ...call, json });

interface StoredApplication extends Record<string, unknown> {
  readonly id: string;
}

async function stored(id: unknown, { database } = service): Promise<StoredApplication | undefined> {
  const query = "select * from applications where id = $1";
  return inSystemScope(database.app, async (client) => (await client.query<StoredApplication>(query, [id])).rows[0]);
}

async function countApplications({ database } = service): Promise<number> {
  const query = "select count(*) as n from applications";
  return inSystemScope(database.app, async (client) => (await client.query<{ n: number }>(query)).rows[0]?.n ?? -1);
}

interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly language: string;
  readonly template: string;
}

/** The mails that name an application, once both are there. */
async function mailsAbout(id: unknown, { dataDir }: TestService = service): Promise<readonly Mail[]> {
  const folder = path.join(dataDir, "outbox");
  for (let waited = 0; waited < 30_000; waited += 50) {
    const files = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".json"));
    const texts = await Promise.all(files.map((name) => readFile(path.join(folder, name), "utf8")));
    const found = texts.filter((text) => text.includes(String(id))).map((text) => JSON.parse(text) as Mail);
    if (found.length >= 2) return found.toSorted((a, b) => (a.template < b.template ? -1 : 1));
    await delay(50);
  }
  return assert.fail(`no mails about ${id}`);
}

describe("202", () => {
  test("the answer is the application's id and state, and nothing else", async () => {
    const { status, json, headers } = await submit(valid);
    assert.equal(status, 202);
    assert.deepEqual(Object.keys(json ?? {}), ["id", "status"]);
    assert.match(String(json?.id), /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    assert.equal(json?.status, "submitted");
    assert.equal(headers["cache-control"], "no-store");
  });

  test("both spellings, over both versions of HTTP, are the same operation", async () => {
    for (const spelling of ["/applications", "/v1/applications"]) {
      for (const http2 of [false, true]) assert.equal((await submit(valid, { http2 }, spelling)).status, 202);
    }
  });

  test("it is stored as it was written, with its identifiers in their canonical form", async () => {
    const { json } = await submit({ ...valid, email: "AYSE@Ornek.example", phone: "+90 (532) 000-00 00" });
    const row = await stored(json?.id);
    assert.deepEqual(
      { ...row, duplicate_of: undefined },
      {
        id: json?.id,
        status: "submitted",
        kind: "accounting_office",
        full_name: "Ayşe Örnek",
        email: "AYSE@Ornek.example",
        email_key: "ayse@ornek.example",
        phone: "+905320000000",
        company_name: "Örnek Mali Müşavirlik",
        tax_id: "1234567808",
        package: "accountant",
        note: "Öğleden sonra arayın.\nTeşekkürler.",
        consents: { terms: true, privacy: true, marketing: false },
        language: "en",
        duplicate_of: undefined,
        created_at: service.clock.now(),
        updated_at: service.clock.now(),
        version: 1,
        decided_at: null,
        decided_by: null,
        decision_reason: null,
      },
    );
  });

  test("Turkish letters are kept byte for byte, composed or not, and so is every other script", async () => {
    for (const name of [
      "İbrahim Şağlıçöü ĞÜŞİÖÇ ğüşıöç Iı İi",
      "i\u0307\u0327 s\u0327",
      "Ελένη 李 👩‍💼 O’Brien-Ñ",
      "  two  spaces ",
    ]) {
      const { status, json } = await submit({ ...valid, full_name: name, company_name: name, note: name });
      assert.equal(status, 202, name);
      const row = await stored(json?.id);
      for (const field of ["full_name", "company_name", "note"]) {
        assert.deepEqual(Buffer.from(String(row?.[field])), Buffer.from(name), field);
      }
    }
  });

  test("the mail to the applicant is in the language of the request, and quotes nothing that was sent", async () => {
    for (const [language, subject] of [
      ["tr", "Başvurunuzu aldık"],
      ["en", "We have received your application"],
    ] as const) {
      const { json } = await submit(valid, { headers: { "accept-language": language } });
      const [applicant] = await mailsAbout(json?.id);
      assert.equal((await stored(json?.id))?.language, language);
      assert.deepEqual([applicant?.to, applicant?.subject], ["ayse@ornek.example", subject]);
      assert.ok(applicant?.text.includes(String(json?.id)));
      assert.doesNotMatch(applicant?.text ?? "", /Ayşe|Örnek|1234567808|532/);
    }
  });

  test("staff get a mail about it, without personal data", async () => {
    const { json } = await submit({ ...valid, kind: "company", package: "corporate" });
    const [, staff, ...more] = await mailsAbout(json?.id);
    assert.deepEqual(more, []);
    assert.deepEqual([staff?.to, staff?.template], ["staff@emanet.invalid", "application_received_staff"]);
    assert.match(staff?.text ?? "", /Şirket.*Kurumsal/su);
    assert.doesNotMatch(JSON.stringify(staff), /Ayşe|Örnek|ayse|1234567808|532|arayın/);
  });

  test("it is on the platform's audit chain, without personal data, and the chain holds", async () => {
    const { json, headers } = await submit(valid);
    const rows = await readChain(service.database.app, "platform");
    assert.equal(firstBadRecord(rows), null);
    const record = rows.find((row) => JSON.stringify(row.targets).includes(String(json?.id)));
    assert.deepEqual(
      [record?.action, record?.actor, record?.outcome, record?.targets, record?.metadata, record?.context],
      [
        "application.submitted",
        { kind: "anonymous" },
        "success",
        [{ type: "application", id: json?.id }],
        { kind: "accounting_office", package: "accountant" },
        { request_id: headers["x-request-id"], operation: "applications.submit", address: "127.0.0.0/24" },
      ],
    );
  });

  test("one Idempotency-Key is one application and two mails, however often it is sent", async () => {
    const before = await countApplications();
    const headers = { "idempotency-key": "apply-once" };
    const first = await submit(valid, { headers });
    const again = await submit(valid, { headers }, "/v1/applications");
    assert.deepEqual([again.status, again.json, again.headers["idempotency-replayed"]], [202, first.json, "true"]);
    assert.equal((await submit({ ...valid, note: "other" }, { headers })).json?.code, "idempotency_key_reused");
    assert.equal(await countApplications(), before + 1);
    assert.equal((await mailsAbout(first.json?.id)).length, 2);
  });
});

describe("a duplicate e-mail", () => {
  test("cannot be told from a first one: status, headers but for ids, shape of the body, and what happens", async () => {
    const email = "kanarya@yeni.example";
    const first = await submit({ ...valid, email });
    const second = await submit({ ...valid, email: "Kanarya@YENI.example", full_name: "Başka Biri" });
    const masked = ({ status, headers, json }: typeof first) => {
      const {
        "x-request-id": _id,
        date: _date,
        "x-ratelimit-remaining": _remaining,
        ratelimit: _ratelimit,
        ...rest
      } = headers;
      return { status, rest, keys: Object.keys(json ?? {}), state: json?.status, length: headers["content-length"] };
    };
    assert.deepEqual(masked(second), masked(first));
    assert.notEqual(second.json?.id, first.json?.id);
    /** The mails, but for what is each application's own: its id and the secret that withdraws it. */
    const mails = async (id: unknown) =>
      (await mailsAbout(id)).map(({ template, subject, text }) => [
        template,
        subject,
        text.replaceAll(String(id), "ID").replaceAll(/wit_[\w-]+/g, "TOKEN"),
      ]);
    assert.deepEqual(await mails(second.json?.id), await mails(first.json?.id));
    assert.equal((await stored(first.json?.id))?.duplicate_of, null);
    assert.equal((await stored(second.json?.id))?.duplicate_of, first.json?.id, "staff see which one came before");
    const third = await submit({ ...valid, email });
    assert.equal((await stored(third.json?.id))?.duplicate_of, second.json?.id);
  });
});

describe("422", () => {
  /** Changes to a valid application, and where each is wrong. */
  const wrong: readonly [string, Readonly<Record<string, unknown>>][] = [
    ["/kind not_allowed", { kind: "person" }],
    ["/kind required", { kind: undefined }],
    ["/full_name too_short", { full_name: "" }],
    ["/full_name too_long", { full_name: "x".repeat(201) }],
    ["/full_name wrong_format", { full_name: "two\nlines" }],
    ["/full_name wrong_format", { full_name: "a\u0000b" }],
    ["/full_name wrong_type", { full_name: null }],
    ["/email wrong_format", { email: "ayse" }],
    ["/email wrong_format", { email: "ayse@" }],
    ["/email wrong_format", { email: "a@b@ornek.example" }],
    ["/email wrong_format", { email: "ayse @ornek.example" }],
    ["/email wrong_format", { email: "ayse@ornek.example\nBcc: x@y.example" }],
    ["/email wrong_format", { email: `${"x".repeat(65)}@ornek.example` }],
    ["/email too_long", { email: `${"x".repeat(250)}@ornek.example` }],
    ["/phone wrong_format", { phone: "0212 000 00 00" }],
    ["/phone wrong_format", { phone: "+49 151 0000000" }],
    ["/phone wrong_format", { phone: "0532 000 00 0x" }],
    ["/phone too_short", { phone: "0532" }],
    ["/phone wrong_type", { phone: 5320000000 }],
    ["/company_name too_short", { company_name: "" }],
    ["/tax_id invalid_checksum", { tax_id: "1234567809" }],
    ["/tax_id invalid_checksum", { tax_id: "10000000147" }],
    ["/tax_id invalid_checksum", { tax_id: "11111111111" }],
    ["/tax_id wrong_format", { tax_id: "12345678o8" }],
    ["/tax_id too_short", { tax_id: "123456780" }],
    ["/tax_id too_long", { tax_id: "123456780812" }],
    ["/tax_id wrong_type", { tax_id: 1234567808 }],
    ["/package not_allowed", { package: "free" }],
    ["/note too_short", { note: "" }],
    ["/note too_long", { note: "x".repeat(2001) }],
    ["/note wrong_format", { note: "bell\u0007" }],
    ["/consents required", { consents: undefined }],
    ["/consents/terms required", { consents: { privacy: true } }],
    ["/consents/terms consent_required", { consents: { terms: false, privacy: true } }],
    ["/consents/privacy consent_required", { consents: { terms: true, privacy: false } }],
    ["/consents/terms wrong_type", { consents: { terms: "true", privacy: true } }],
    ["/consents unknown_field", { consents: { terms: true, privacy: true, all: true } }],
    [" unknown_field", { status: "approved" }],
    [" unknown_field", { id: "0199c0de-0000-7000-8000-000000000001" }],
  ];

  test("each field has its rules, and each fault its place, in both languages, without the value", async () => {
    const before = await countApplications();
    for (const [expected, change] of wrong) {
      for (const language of ["tr", "en"]) {
        const { status, json, body } = await submit(
          { ...valid, ...change },
          { headers: { "accept-language": language } },
        );
        const errors = (json?.errors ?? []) as readonly { pointer: string; code: string }[];
        assert.equal(status, 422, JSON.stringify(change));
        assert.ok(
          errors.some(({ pointer, code }) => `${pointer} ${code}` === expected),
          `${expected}: ${body}`,
        );
        const [value] = Object.values(change);
        if (typeof value === "string" && value.length > 3) assert.ok(!body.includes(value), String(body));
      }
    }
    assert.equal(await countApplications(), before);
  });

  test("one answer lists all violations of the rules", async () => {
    const rules = {
      ...valid,
      phone: "0212 000 00 00",
      tax_id: "1234567809",
      consents: { terms: false, privacy: false },
    };
    const { json } = await submit(rules);
    const errors = (json?.errors ?? []) as readonly { pointer: string }[];
    const places = errors.map((error) => error.pointer).sort();
    assert.deepEqual(places, ["/consents/privacy", "/consents/terms", "/phone", "/tax_id"]);
  });

  test("good values at the edges are taken", async () => {
    for (const change of [
      { note: undefined },
      { consents: { terms: true, privacy: true } },
      { full_name: "x".repeat(200), company_name: "ş".repeat(200), note: "ğ".repeat(2000) },
      { tax_id: "10000000146" },
      { tax_id: "4540536920" },
      { phone: "5320000000" },
      { phone: "00905320000000" },
      { phone: "+90 532 000 00 00" },
      { email: "a+b.c_d@sub.ornek.example" },
      { email: `${"x".repeat(64)}@ornek.example` },
    ]) {
      assert.equal((await submit({ ...valid, ...change })).status, 202, JSON.stringify(change).slice(0, 80));
    }
  });
});

describe("429", () => {
  test("five an hour from one address, over both spellings and versions, and exactly again after that", async (t) => {
    const strict = await startTestService(t);
    const start = strict.clock.now().getTime();
    const spellings = ["/applications", "/v1/applications"];
    const send = (count: number) =>
      submit(
        valid,
        { http2: count % 2 === 1, headers: { "x-forwarded-for": `203.0.113.${count}` } },
        spellings[count % 2],
        strict,
      );
    for (let count = 0; count < 5; count++) {
      const answer = await send(count);
      assert.deepEqual([answer.status, answer.headers["x-ratelimit-remaining"]], [202, String(4 - count)]);
      strict.clock.advance(60_000);
    }
    const refused = await send(5);
    assert.deepEqual([refused.status, refused.headers["retry-after"]], [429, String(3600 - 300)]);
    const { code, policy, limit, window, retry_after } = refused.json ?? {};
    assert.deepEqual(
      { code, policy, limit, window, retry_after },
      { code: "rate_limited", policy: "applications", limit: 5, window: 3600, retry_after: 3300 },
    );
    assert.deepEqual([refused.headers["x-ratelimit-limit"], refused.headers["x-ratelimit-remaining"]], ["5", "0"]);
    assert.equal(Number(refused.headers["x-ratelimit-reset"]), Math.ceil((start + 4 * 60_000) / 1000) + 3600);
    for (let again = 0; again < 10; again++) assert.equal((await send(again)).status, 429);
    strict.clock.advance(3300 * 1000 - 1);
    assert.equal((await send(0)).status, 429);
    strict.clock.advance(1);
    assert.equal((await send(0)).status, 202, "refusals were not counted, and one place is free again");
    assert.equal((await send(1)).status, 429);
    assert.equal(await countApplications(strict), 6);
  });

  test("an application that is refused for its content counts too, so addresses cannot be tried without a limit", async (t) => {
    const strict = await startTestService(t);
    for (let count = 0; count < 5; count++) assert.equal((await submit({}, {}, "/applications", strict)).status, 422);
    assert.equal((await submit(valid, {}, "/applications", strict)).status, 429);
    assert.equal((await strict.send("GET", "/health/live")).status, 200, "other operations have their own limits");
  });
});

test("nothing is stored when a mail cannot be queued", async (t) => {
  const broken = await startTestService(t);
  const { owner } = broken.database;
  const signature = "emanet.enqueue_job(uuid, text, json, text, text, integer, timestamptz, timestamptz)";
  await owner.query(`revoke execute on function ${signature} from emanet_app`);
  const { status, json } = await submit(valid, {}, "/applications", broken);
  assert.deepEqual([status, json?.code], [500, "internal_error"]);
  assert.equal(await countApplications(broken), 0);
  const audited = await readChain(broken.database.app, "platform");
  assert.ok(audited.every(({ action }) => !action.startsWith("application.")));
  await owner.query(`grant execute on function ${signature} to emanet_app`);
  assert.equal((await submit(valid, {}, "/applications", broken)).status, 202);
});

test("nothing personal was logged by any of this", () => {
  const log = service.logLines.join("\n");
  assert.ok(log.includes("applications.submit"));
  assert.doesNotMatch(log, /ayse|Ayşe|ornek\.example|Örnek|1234567808|10000000146|5320000000|532 000|kanarya|arayın/i);
});

/**
 * A seeded fuzzer: arbitrary methods, paths, queries, headers and bodies against every operation of the document, half
 * of them close to valid. Whatever is sent, the answer is one that the document declares, and never a fault of ours.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import fc from "fast-check";
import { endpoints } from "../../endpoints.ts";
import { createNotesTable, noteEndpoints } from "../../testing/notes.ts";
import { exchangeRaw } from "../../testing/raw.ts";
import { startTestService, type TestCall, testToken } from "../../testing/running.ts";
import { scaled } from "../../testing/scale.ts";
import type { Endpoint } from "./endpoint.ts";

const account = "0199c0de-0000-7000-8000-0000000000aa";
const token = testToken(account, "client-1", ["account:read", "account:write"]);

/** Two of the notes fail on purpose: that they do is tested elsewhere. */
const faulty = new Set(["notes.leaky", "notes.slow"]);
const fuzzed = [...endpoints, ...noteEndpoints].filter(({ spec }) => !faulty.has(spec.id));

const service = await startTestService(
  { after },
  { extra: noteEndpoints, settings: { EMANET_LIMIT_APPLICATIONS: "100000000/1" } },
);
await createNotesTable(service.database.owner);

/** Text of any kind: ordinary, of other scripts, of control characters and halves of pairs. */
const anyText = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ maxLength: 20, unit: "grapheme" }),
  fc.constantFrom(
    "",
    "null",
    "\0",
    "\ud800",
    "__proto__",
    "constructor",
    "'; drop table x; --",
    "../../etc",
    "%00",
    "İIıi",
  ),
);

/** What a client library lets into a header. */
const headerText = fc.stringMatching(/^[\x21-\x7e\xa0-\xff ]{0,60}$/);

const anyHeaders = fc.dictionary(
  fc.constantFrom(
    ...["accept", "accept-language", "accept-encoding", "content-type", "content-encoding", "idempotency-key"],
    ...["if-match", "if-none-match", "x-request-id", "x-forwarded-for", "authorization", "origin", "cookie", "range"],
    ...["expect-ct", "x-emanet-fault", "forwarded", "prefer", "x-http-method-override", "dnt"],
  ),
  fc.oneof(headerText, fc.constantFrom("*", "application/json", "gzip", "tr", '"x"', "bytes=0-1", `Bearer ${token}`)),
  { maxKeys: 4 },
);

const methods = fc.constantFrom(
  "GET",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "HEAD",
  "OPTIONS",
  "TRACE",
  "PROPFIND",
  "QUERY",
);

/** A path segment as in an address; never a fragment, which belongs to no request. */
const segment = fc.oneof(
  anyText.map((text) => encodeURIComponent(text.toWellFormed())),
  fc.stringMatching(/^[A-Za-z0-9%._~:@!$&'()*+,;=-]{1,30}$/),
  fc.constantFrom(account, "V1StGXR8_Z5jdHi6B-myT", "..", ".", "%2e%2e", "%2f", "%00", "%ff", "leaky%00", "json"),
);

const anyQuery = fc.oneof(
  { weight: 3, arbitrary: fc.constant("") },
  fc.stringMatching(/^[A-Za-z0-9%._~:@!$&'()*+,;=/?[\]-]{0,60}$/).map((text) => `?${text}`),
  fc
    .array(fc.tuple(fc.constantFrom("limit", "cursor", "contains", "x", "__proto__"), anyText), { maxLength: 4 })
    .map(
      (pairs) => `?${pairs.map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`).join("&")}`,
    ),
);

/** A body that fits, with one or two things wrong. */
function nearlyValid(valid: Readonly<Record<string, unknown>>): fc.Arbitrary<unknown> {
  const change = fc.tuple(
    fc.constantFrom(...Object.keys(valid), "extra"),
    fc.oneof(anyText, fc.jsonValue(), fc.constant(undefined)),
  );
  return fc.array(change, { maxLength: 2 }).map((changes) => ({ ...valid, ...Object.fromEntries(changes) }));
}

const application = {
  kind: "company",
  full_name: "Ayşe Örnek",
  email: "ayse@ornek.example",
  phone: "0532 000 00 00",
  company_name: "Örnek A.Ş.",
  tax_id: "1234567808",
  package: "starter",
  note: "Satır bir\nSatır iki",
  consents: { terms: true, privacy: true },
};

const anyBody: fc.Arbitrary<TestCall> = fc.oneof(
  fc.constant({}),
  nearlyValid(application).map((json) => ({ json })),
  nearlyValid({ text: "not" }).map((json) => ({ json })),
  fc.jsonValue().map((json) => ({ json })),
  fc.uint8Array({ maxLength: 200 }).map((body) => ({ body, headers: { "content-type": "application/json" } })),
  fc.string({ maxLength: 200 }).map((body) => ({ body })),
);

interface Shot {
  readonly method: string;
  readonly target: string;
  readonly call: TestCall;
}

function shotAt({ spec }: Endpoint): fc.Arbitrary<Shot> {
  const path = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(spec.path, ...(spec.aliases ?? [])) },
    fc.array(segment, { maxLength: 4 }).map((parts) => `/${parts.join("/")}`),
  );
  return fc
    .record({
      method: fc.oneof({ weight: 3, arbitrary: fc.constant(spec.method) }, methods),
      path,
      fills: fc.array(segment, { minLength: 2, maxLength: 2 }),
      query: anyQuery,
      headers: anyHeaders,
      known: fc.boolean(),
      body: anyBody,
      http2: fc.boolean(),
    })
    .map(({ method, path: template, fills, query, headers, known, body, http2 }) => {
      const [first = "", second = ""] = fills;
      const filled = template.replace(/\{\w+\}/, () => first).replace(/\{\w+\}/, () => second);
      const all = { ...(known && { authorization: `Bearer ${token}` }), ...body.headers, ...headers };
      return { method, target: filled + query, call: { ...body, headers: all, http2 } };
    });
}

/** Shared out among the operations, so that the run does not grow with the document. */
const shotsEach = Math.ceil(scaled(400, 40_000) / fuzzed.length);

const failures = () => service.logLines.filter((line) => line.includes('"request_failed"'));

for (const { spec, handle } of fuzzed) {
  test(`${spec.id}: whatever is sent, the answer is one that the document declares`, async () => {
    await fc.assert(
      fc.asyncProperty(shotAt({ spec, handle }), async ({ method, target, call }) => {
        // The answer is held against the document by `send` itself.
        const { status } = await service.send(method, target, call);
        assert.ok(status < 500, `${status}\n${failures().at(-1)}`);
      }),
      { seed: 20261115, numRuns: shotsEach, endOnFailure: true },
    );
  });
}

test("bytes that are nearly a request are answered with 4xx or served, never with a fault", async () => {
  const body = JSON.stringify(application);
  const whole = Buffer.from(
    `POST /applications HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  const place = fc.integer({ min: 0, max: whole.length - 1 });
  const change = fc.tuple(place, fc.uint8Array({ minLength: 1, maxLength: 4 }), fc.boolean());
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
      let bytes = Buffer.from(whole);
      for (const [at, insert, replace] of changes) {
        bytes = Buffer.concat([bytes.subarray(0, at), insert, bytes.subarray(replace ? at + insert.length : at)]);
      }
      // Bytes that shift the length would leave the service waiting for more; then the client leaves.
      const answer = await exchangeRaw(service, bytes, { endAfterMs: 300 });
      assert.match(answer, /^(HTTP\/1\.1 (2|4)\d\d |$)/);
    }),
    { seed: 20261116, numRuns: scaled(60, 5_000), endOnFailure: true },
  );
});

test("after all that nothing was logged as a fault of ours, and the service serves", async () => {
  assert.deepEqual(failures(), []);
  assert.equal((await service.send("GET", "/health/ready")).status, 200);
});

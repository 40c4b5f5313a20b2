import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { declared } from "../../declarations.ts";
import { endpoints, events, tags } from "../../endpoints.ts";
import { createNotesTable, noteEndpoints, oldNotes } from "../../testing/notes.ts";
import { startTestService, testToken } from "../../testing/running.ts";
import { retirementOf } from "./deprecation.ts";
import { openapiDocument } from "./openapi.ts";

const service = await startTestService({ after }, { extra: noteEndpoints });
await createNotesTable(service.database.owner);
const scopes = ["account:read", "account:write"] as const;
const authorization = `Bearer ${testToken("0199c0de-0000-7000-8000-0000000000aa", "client-1", scopes)}`;
const headers = { authorization };
const read = (query = "", more: Record<string, string> = headers) =>
  service.send("GET", `/v1/test-notes/old${query}`, { headers: more });
const links = `<${service.url}/docs/errors>; rel="deprecation", <${service.url}/docs/errors>; rel="sunset"`;

describe("a deprecated operation", () => {
  test("says since when, until when and where to read more, on every answer of it", async () => {
    for (const answer of [await read(), await read("", {}), await read("?limit=0")]) {
      assert.equal(answer.headers.deprecation, `@${Date.UTC(2026, 0, 1) / 1000}`);
      assert.equal(answer.headers.sunset, "Fri, 01 Jan 2027 00:00:00 GMT");
      assert.equal(answer.headers.link, links);
    }
  });

  test("keeps its other links", async () => {
    for (const text of ["one", "two"]) {
      assert.equal((await service.send("POST", "/v1/test-notes", { headers, json: { text } })).status, 201);
    }
    const { headers: answered } = await read("?limit=1");
    assert.match(answered.link ?? "", /^<[^>]+cursor=[^>]+>; rel="next", </);
    assert.ok(answered.link?.endsWith(links));
  });

  test("410 endpoint_sunset from that day on by the application's clock, and not a moment before", async () => {
    const untilSunset = Date.UTC(2027, 0, 1) - service.clock.now().getTime();
    service.clock.advance(untilSunset - 1);
    assert.equal((await read()).status, 200);
    service.clock.advance(1);
    const gone = await read();
    assert.deepEqual([gone.status, gone.json?.code, gone.headers.link], [410, "endpoint_sunset", links]);
    assert.equal((await service.send("GET", "/v1/test-notes", { headers })).status, 200, "others go on");
  });

  test("is marked in the document, and no other is", () => {
    const document = openapiDocument({
      endpoints: [...endpoints, ...noteEndpoints],
      events,
      tags,
      version: "0.0.0",
      declared,
    });
    const paths = document.paths as Record<string, Record<string, { operationId: string; deprecated?: true }>>;
    const marked = Object.values(paths).flatMap((methods) => Object.values(methods).filter((one) => one.deprecated));
    assert.deepEqual(
      marked.map(({ operationId }) => operationId),
      ["notes.list_old"],
    );
  });

  test("cannot be declared with less than a year's notice, or with days that are none", () => {
    for (const [since, sunset] of [
      ["2026-01-01", "2026-12-31"],
      ["2026-01-01", "2025-01-01"],
      ["soon", "2027-01-01"],
      ["2026-01-01", "later"],
    ] as const) {
      assert.throws(() => retirementOf({ ...oldNotes.spec, deprecated: { since, sunset } }), /12 months/);
    }
  });
});

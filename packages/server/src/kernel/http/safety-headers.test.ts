import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { exchangeRaw } from "../../testing/raw.ts";
import { startTestService } from "../../testing/running.ts";

/** Answers of each kind: an operation, a page, OAuth, no such address, and what is no HTTP at all. */
const paths = ["/health/live", "/docs", "/enrol", "/oauth2/jwks", "/oauth2/nowhere", "/nowhere", "/v1/account"];
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
const requests = [...paths.map(get), "GET / HTTP/1.1\r\n\r\n", "what is this\r\n\r\n"];

describe("browsers keep to TLS", () => {
  test("outside profile `local` every answer says so, also those of the parser", async () => {
    const service = await startTestService({ after });
    for (const request of requests) {
      const answer = await exchangeRaw(service, request);
      assert.match(answer, /\r\nstrict-transport-security: max-age=31536000\r\n/i, request);
    }
  });

  test("in profile `local` none does: its certificate is not one that browsers know", async () => {
    const settings = { EMANET_PROFILE: "local", EMANET_LIMIT_ANONYMOUS: "" };
    const service = await startTestService({ after }, { settings });
    for (const request of requests) {
      assert.doesNotMatch(await exchangeRaw(service, request), /strict-transport-security/i, request);
    }
  });
});

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../testing/running.ts";
import { basic, demoOf, post, siteOf } from "./testing.ts";

const service = await startTestService({ after });
const site = siteOf(service);
const demo = await demoOf(service);

test("429 temporarily_unavailable with Retry-After: the 61st request of a client in a minute; others go on", async () => {
  const send = (id: string) =>
    post(site, "/oauth2/token", { grant_type: "client_credentials" }, basic(id, demo.client_secret));
  for (let count = 0; count < 60; count++) assert.equal((await send(demo.client_id)).status, 200);
  const refused = await send(demo.client_id);
  assert.equal(refused.status, 429);
  assert.equal(refused.json?.error, "temporarily_unavailable");
  assert.equal(refused.headers["retry-after"], "60");
  assert.equal(refused.headers["x-ratelimit-remaining"], "0");
  assert.equal((await send("00000000-0000-7000-8000-000000000000")).status, 401);
  service.clock.advance(60_000);
  assert.equal((await send(demo.client_id)).status, 200);
});

test("a failed client authentication counts by address only, so it cannot use up the client's limit", async () => {
  service.clock.advance(60_000);
  const send = (secret: string) =>
    post(site, "/oauth2/token", { grant_type: "client_credentials" }, basic(demo.client_id, secret));
  for (let count = 0; count < 60; count++) assert.equal((await send("wrong")).status, 401);
  assert.equal((await send("wrong")).status, 429);
  const right = await send(demo.client_secret);
  assert.equal(right.status, 200);
  assert.match(right.headers.ratelimit ?? "", /"token";r=59/);
});

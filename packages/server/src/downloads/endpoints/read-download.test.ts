import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { ObjectStoreError } from "@emanet/engine";
import { makeClient } from "../../accounts/testing.ts";
import { recheckMs } from "../../kernel/http/reply-stream.ts";
import { auditOf, runTask, type SnapshotTest, snapshotTest } from "../../snapshots/testing.ts";
import { tokenFor } from "../../testing/accounts.ts";
import type { Sent } from "../../testing/running.ts";
import { makeVault } from "../../vaults/testing.ts";
import { purgeLinks } from "../jobs.ts";
import { cookieOf, makeLink, openDownload } from "../testing.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

let isStoreAway = false;
const env: SnapshotTest = await snapshotTest(
  { after },
  {},
  {
    services: (real) => ({
      ...real,
      vaults: {
        ...real.vaults,
        open: async (...ids) => {
          if (isStoreAway) throw new ObjectStoreError("unavailable", "away");
          return real.vaults.open(...ids);
        },
      },
    }),
  },
);
const content = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 31 + (i >> 8)) & 0xff));
const made = await env.upload("source=downloads&path=d/b%C3%BCy%C3%BCk.bak", content);
const id = String(made.json?.id);
const deleted = String((await env.upload("source=gone&path=a", "1")).json?.id);
// More than the buffers of two sockets take.
const total = 48 * 1024 * 1024;
const long = await env.upload("source=long&path=zeros", Buffer.alloc(total), { "content-type": "text/plain" });
const large = String(long.json?.id);
const file = { path: "d/büyük.bak" };
const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  env.service.send("GET", path, { headers });

test("200 without a token: the file, as an attachment; the second time it is 410", async () => {
  const link = await makeLink(env, id, file);
  const answer = await get(link);
  assert.equal(answer.status, 200);
  assert.ok(answer.body.equals(content));
  assert.match(answer.headers["content-disposition"] ?? "", /^attachment; filename="buyuk.bak"/);
  assert.match(answer.headers["content-security-policy"] ?? "", /^sandbox/);
  const again = await get(link);
  assert.deepEqual([again.status, again.json?.code], [410, "download_expired"]);
  assert.ok((await auditOf(env)).includes("download_link.used by anonymous"));
});

test("the first GET sets a cookie of this path alone, and ranges with it continue the download for a day", async () => {
  const link = await makeLink(env, id, file);
  const first = await get(link, { range: "bytes=0-99" });
  assert.equal(first.status, 206);
  const [attributes = ""] = [first.headers["set-cookie"]].flat();
  assert.match(
    attributes,
    new RegExp(`^__Secure-download=[A-Za-z0-9_-]{43}; Path=${link}; Max-Age=86400; HttpOnly; Secure; SameSite=Lax$`),
  );
  const cookie = cookieOf(first);
  env.service.clock.advance(23 * hourMs);
  const rest = await get(link, { ...cookie, range: "bytes=100-" });
  assert.deepEqual([rest.status, rest.headers["set-cookie"]], [206, undefined]);
  assert.ok(Buffer.concat([first.body, rest.body]).equals(content));
  for (const other of ["", "__Secure-download=x", `${cookie.cookie}x`, cookie.cookie?.slice(0, -1) ?? ""])
    assert.equal((await get(link, { cookie: other, range: "bytes=100-" })).status, 410, other);
  assert.equal((await get(await makeLink(env, id, file), cookie)).status, 200);
  env.service.clock.advance(hourMs);
  assert.equal((await get(link, cookie)).status, 410);
});

test("HEAD uses nothing: the link is as good as before, and has no cookie", async () => {
  const link = await makeLink(env, id, file);
  for (let count = 0; count < 2; count++) {
    const head = await env.service.send("HEAD", link);
    assert.deepEqual(
      [head.status, head.headers["content-length"], head.headers["accept-ranges"], head.headers["set-cookie"]],
      [200, String(content.length), "bytes", undefined],
    );
  }
  assert.equal((await get(link)).status, 200);
  assert.equal((await env.service.send("HEAD", link)).status, 410);
});

test("416 and 304 use nothing", async () => {
  const link = await makeLink(env, id, file);
  assert.equal((await get(link, { range: "bytes=300000-" })).status, 416);
  const { etag = "" } = (await env.service.send("HEAD", link)).headers;
  assert.equal((await get(link, { "if-none-match": etag })).status, 304);
  assert.equal((await get(link)).status, 200);
});

test("of many first requests at the same time one gets the content", async () => {
  const link = await makeLink(env, id, file);
  const answers = await Promise.all(Array.from({ length: 8 }, () => get(link)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array.from({ length: 7 }, () => 410)]);
});

test("a store that does not answer leaves the link as it was", async () => {
  const link = await makeLink(env, id, file);
  isStoreAway = true;
  assert.equal((await get(link)).status, 503);
  isStoreAway = false;
  assert.equal((await get(link)).status, 200);
});

test("410 five minutes after it was made, 404 once it is forgotten or never was", async () => {
  const link = await makeLink(env, id, file);
  env.service.clock.advance(5 * minuteMs - 1);
  assert.equal((await env.service.send("HEAD", link)).status, 200);
  env.service.clock.advance(1);
  assert.equal((await env.service.send("HEAD", link)).status, 410);
  assert.equal((await get(link)).status, 410);
  env.service.clock.advance(47 * hourMs);
  await runTask(env, purgeLinks, {});
  assert.equal((await get(link)).status, 410);
  env.service.clock.advance(hourMs);
  await runTask(env, purgeLinks, {});
  assert.equal((await get(link)).status, 404);
  assert.equal((await get(`/v1/downloads/${"x".repeat(43)}`)).status, 404);
});

test("410 when the snapshot was deleted meanwhile", async () => {
  const [link, begun] = [await makeLink(env, deleted), await makeLink(env, deleted, { path: "a" })];
  const cookie = cookieOf(await get(begun));
  const owner = await env.as({ role: "owner" });
  assert.equal((await env.service.send("DELETE", `/v1/snapshots/${deleted}`, { headers: owner })).status, 204);
  assert.equal((await get(link)).status, 410);
  assert.equal((await get(begun, cookie)).status, 410);
});

test("a page of another origin may lead to the link", async () => {
  const link = await makeLink(env, id, file);
  assert.equal((await get(link, { "sec-fetch-site": "cross-site", origin: "https://mail.example" })).status, 200);
});

describe("the rights of the maker are those of the link", () => {
  const owners = async () => (await tokenFor(env.service, { accountId: env.accountId, role: "owner" })).auth;
  /** What takes the right of a client, by the API. */
  const takers: Readonly<Record<string, (client: string) => Promise<Sent>>> = {
    "its client is held to another vault": async (client) => {
      const headers = await owners();
      const other = await makeVault(env.service, headers);
      return env.service.send("PATCH", client, { json: { vault_ids: [other] }, headers });
    },
    "its client loses the scope": async (client) =>
      env.service.send("PATCH", client, { json: { scopes: ["snapshots:write"] }, headers: await owners() }),
    "its client is deleted": async (client) => env.service.send("DELETE", client, { headers: await owners() }),
  };
  for (const [what, take] of Object.entries(takers))
    test(`a new request is 410 and a stream is cut within ten seconds: ${what}`, async () => {
      const scopes = ["snapshots:read", "snapshots:write"];
      const { client, target } = await makeClient(env.service, await owners(), {
        scopes,
        vault_ids: [String(long.json?.vault_id)],
      });
      const bearer = { accountId: env.accountId, as: "client", kind: "api", clientId: client.id, scopes } as const;
      const { auth } = await tokenFor(env.service, bearer);
      const unused = await makeLink(env, large, {}, auth);
      const begun = await makeLink(env, large, { path: "zeros" }, auth);
      const cookie = cookieOf(await get(begun, { range: "bytes=0-0" }));
      const streams = [
        await openDownload(env, begun, cookie),
        await openDownload(env, await makeLink(env, large, {}, auth)),
      ];
      assert.ok((await take(target)).status < 300);
      for (const answer of [await get(unused), await get(begun, cookie), await env.service.send("HEAD", unused)])
        assert.equal(answer.status, 410);
      env.service.clock.advance(recheckMs);
      for (const stream of streams) {
        const { bytes, isWhole } = await stream.end();
        assert.ok(!isWhole && bytes < total, `${bytes}`);
      }
    });

  test("a removed member's link and stream end, those of others go on", async () => {
    const gone = await tokenFor(env.service, { accountId: env.accountId, role: "viewer" });
    const kept = await tokenFor(env.service, { accountId: env.accountId, role: "viewer" });
    const [link, other] = [await makeLink(env, large, {}, gone.auth), await makeLink(env, large, {}, kept.auth)];
    const cut = await openDownload(env, await makeLink(env, large, {}, gone.auth));
    const removed = await env.service.send("DELETE", `/v1/members/${gone.personId}`, { headers: await owners() });
    assert.equal(removed.status, 204, removed.body.toString());
    const lasting = await openDownload(env, other);
    env.service.clock.advance(recheckMs);
    assert.equal((await cut.end()).isWhole, false);
    assert.equal((await get(link)).status, 410);
    assert.equal((await lasting.end()).isWhole, true);
  });

  test("the end of the maker's token does not matter, the end of its session does", async () => {
    const maker = await tokenFor(env.service, { accountId: env.accountId, role: "viewer" });
    const link = await makeLink(env, id, file, maker.auth);
    const cookie = cookieOf(await get(link));
    env.service.clock.advance(hourMs);
    assert.equal((await get(link, cookie)).status, 200);
    await env.rows("update emanet.sessions set revoked_at = now(), revoked_reason = 'test' where id = $1", [
      maker.sessionId,
    ]);
    env.service.clock.advance(2_000);
    assert.equal((await get(link, cookie)).status, 410);
  });
});

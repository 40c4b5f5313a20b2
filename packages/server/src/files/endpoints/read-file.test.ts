import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import { after, before, describe, test } from "node:test";
import { makeClient } from "../../accounts/testing.ts";
import { recheckMs } from "../../kernel/http/reply-stream.ts";
import { endMark, member, snapshotTest, tarOf } from "../../snapshots/testing.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import type { Sent } from "../../testing/running.ts";
import { makeVault } from "../../vaults/testing.ts";

const env = await snapshotTest({ after });
const content = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => (i * 31 + (i >> 8)) & 0xff));
const made = await env.upload(
  "source=files",
  Buffer.concat([
    member({ name: "d/büyük.bak" }, content),
    member({ name: Buffer.from([0x66, 0x98]) }, "bytes"),
    member({ name: "d/link", type: "2", linkName: "büyük.bak" }),
    member({ name: "none" }, ""),
    endMark,
  ]),
);
const base = `/v1/snapshots/${made.json?.id}/files`;
const large = `${base}/d/b%C3%BCy%C3%BCk.bak`;

test("200: all bytes, as an attachment that no browser shows", async () => {
  const answer = await env.get(large);
  assert.equal(answer.status, 200);
  assert.ok(answer.body.equals(content));
  assert.deepEqual(
    ["content-type", "content-length", "accept-ranges", "x-content-type-options", "cache-control"].map(
      (name) => answer.headers[name],
    ),
    ["application/octet-stream", "3000000", "bytes", "nosniff", "private, no-cache, no-transform"],
  );
  assert.match(answer.headers["content-security-policy"] ?? "", /^sandbox/);
  assert.equal(
    answer.headers["content-disposition"],
    "attachment; filename=\"buyuk.bak\"; filename*=UTF-8''b%C3%BCy%C3%BCk.bak",
  );
  assert.match(answer.headers.etag ?? "", /^"[0-9a-f]{64}"$/);
});

test("the ETag is the hash that the tree shows, and equal files of a vault have the same", async () => {
  const { etag } = (await env.get(large)).headers;
  const tree = await env.get(`/v1/snapshots/${made.json?.id}/tree?path=d`);
  assert.equal(listIn<{ hash: string }>(tree, "data")[0]?.hash, etag?.slice(1, -1));
  const copy = await env.upload("source=copy&path=copy", content);
  assert.equal((await env.get(`/v1/snapshots/${copy.json?.id}/files/copy`)).headers.etag, etag);
  assert.equal((await env.get(large, { "if-none-match": etag ?? "" })).status, 304);
});

test("206: any range has the bytes of the whole", async () => {
  const ranges: readonly (readonly [string, number, number])[] = [
    ["bytes=0-0", 0, 1],
    ["bytes=1048570-1048590", 1_048_570, 1_048_591],
    ["bytes=2999999-", 2_999_999, 3_000_000],
    ["bytes=-10", 2_999_990, 3_000_000],
    ["bytes=100-99999999", 100, 3_000_000],
  ];
  for (const [range, start, end] of ranges) {
    const answer = await env.get(large, { range });
    assert.deepEqual([answer.status, answer.headers["content-range"]], [206, `bytes ${start}-${end - 1}/3000000`]);
    assert.ok(answer.body.equals(content.subarray(start, end)), range);
  }
});

test("416 beyond the end; If-Range with another tag gets the whole", async () => {
  const beyond = await env.get(large, { range: "bytes=3000000-" });
  assert.deepEqual([beyond.status, beyond.headers["content-range"]], [416, "bytes */3000000"]);
  assert.equal((await env.get(large, { range: "bytes=0-1", "if-range": '"other"' })).status, 200);
});

test("HEAD answers like GET, without content", async () => {
  const head = await env.service.send("HEAD", large, { headers: env.auth });
  const get = await env.get(large);
  assert.deepEqual([head.status, head.body.length], [200, 0]);
  for (const name of ["content-length", "etag", "content-disposition", "accept-ranges"])
    assert.equal(head.headers[name], get.headers[name], name);
});

test("names are bytes: %98 is found, and what is near it is not", async () => {
  assert.equal((await env.get(`${base}/f%98`)).body.toString(), "bytes");
  assert.equal((await env.get(`${base}/f%99`)).status, 404);
  assert.equal((await env.get(`${base}/none`)).body.length, 0);
});

test("400: a parameter, which no file has", async () => {
  for (const query of ["missing=true", "path=x", "x"])
    assert.equal((await env.get(`${base}/none?${query}`)).json?.code, "unknown_parameter", query);
});

test("404: a directory, a link, a path below a file, an empty part, another account's snapshot", async () => {
  for (const path of ["d", "d/link", "none/x", "d//b", "../d", "", "yok"])
    assert.equal((await env.get(`${base}/${path}`)).status, 404, path);
  assert.equal((await env.get(`/v1/snapshots/${randomUUID()}/files/a`)).status, 404);
  const { tokenFor } = await import("../../testing/accounts.ts");
  const other = await tokenFor(env.service, { as: "client", kind: "api" });
  assert.equal((await env.service.send("GET", large, { headers: other.auth })).status, 404);
});

test("404: a client that is held to another vault; 409 and 410 by state", async () => {
  const held = await env.as({ as: "client", kind: "api", vaultIds: [randomUUID()] });
  assert.equal((await env.service.send("GET", large, { headers: held })).status, 404);
  const { json } = await env.upload("source=expired", tarOf({ a: "1" }));
  for (const [state, status, code] of [
    ["expired", 410, "snapshot_expired"],
    ["running", 409, "state_conflict"],
  ] as const) {
    await env.rows("update emanet.snapshots set state = $2, expired_at = now() where id = $1", [json?.id, state]);
    const answer = await env.get(`/v1/snapshots/${json?.id}/files/a`);
    assert.deepEqual([answer.status, answer.json?.code], [status, code]);
  }
});

describe("a download while rights are taken", () => {
  // More than the buffers of two sockets take.
  const total = 48 * 1024 * 1024;
  let vaultId = "";
  let target = "";
  before(async () => {
    const answer = await env.upload("source=long&path=zeros", Buffer.alloc(total), { "content-type": "text/plain" });
    vaultId = String(answer.json?.vault_id);
    target = `/v1/snapshots/${answer.json?.id}`;
  });

  /** A download that nobody takes yet. `end` takes it: how many bytes came, and whether it was whole. */
  async function open(path: string, headers: Readonly<Record<string, string>>) {
    const outgoing = https.get(`${env.service.url}${target}${path}`, { headers, ca: env.service.ca, agent: false });
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    assert.equal(response.statusCode, 200);
    response.pause();
    response.on("error", () => undefined);
    const closed = new Promise<void>((resolve) => response.once("close", resolve));
    let bytes = 0;
    response.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    response.pause();
    const end = async () => {
      response.resume();
      await closed;
      return { bytes, isWhole: response.complete };
    };
    return { end };
  }

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
    test(`is cut after 10 seconds at most, though nothing of it is taken: ${what}`, async () => {
      const scopes = ["snapshots:read", "snapshots:write"];
      const made = await makeClient(env.service, await owners(), { scopes, vault_ids: [vaultId] });
      const bearer = { accountId: env.accountId, as: "client", kind: "api", clientId: made.client.id, scopes } as const;
      const { auth } = await tokenFor(env.service, bearer);
      const [file, archive] = [await open("/files/zeros", auth), await open("/archive", auth)];
      assert.ok((await take(made.target)).status < 300);
      env.service.clock.advance(recheckMs);
      for (const download of [file, archive]) {
        const { bytes, isWhole } = await download.end();
        assert.ok(!isWhole && bytes < total, `${bytes}`);
      }
    });

  test("a session that has ended cuts it too; the end of the token does not", async () => {
    const kept = await tokenFor(env.service, { accountId: env.accountId, role: "viewer" });
    const ended = await tokenFor(env.service, { accountId: env.accountId, role: "viewer" });
    const lasting = await open("/files/zeros", kept.auth);
    const cut = await open("/files/zeros", ended.auth);
    env.service.clock.advance(3_600_000);
    const { personId, sessionId } = ended;
    assert.ok(personId !== null);
    const other = await tokenFor(env.service, { accountId: env.accountId, personId });
    const gone = await env.service.send("DELETE", `/v1/sessions/${sessionId}`, { headers: other.auth });
    assert.equal(gone.status, 204, gone.body.toString());
    env.service.clock.advance(recheckMs);
    assert.equal((await cut.end()).isWhole, false);
    assert.deepEqual(await lasting.end(), { bytes: total, isWhole: true });
  });
});

/** Names that people, programs and attackers give to files: every way out shows and finds them, and every header is one. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { makeLink } from "../../packages/server/src/downloads/testing.ts";
import { fileTest } from "../../packages/server/src/files/testing.ts";
import { type PageJson, pathsOf, type VersionJson } from "../../packages/server/src/search/testing.ts";
import { snapshotTest } from "../../packages/server/src/snapshots/testing.ts";

const env = await snapshotTest({ after });
const files = fileTest(env);

const bytes = (...values: readonly (string | number)[]) =>
  Buffer.concat(values.map((value) => (typeof value === "string" ? Buffer.from(value) : Buffer.of(value))));

/** A name, and a query that finds it. */
const names: readonly (readonly [Buffer, string])[] = [
  [bytes("satır\nsonu.txt"), "SATIR"],
  [bytes("\t sekme\r.txt"), "sekme"],
  [bytes("\u202efdp.exe"), "fdp.exe"],
  [bytes("a\u0301\u0302\u0303\u0304çok işaret"), "açok"],
  [bytes("İIıi".normalize("NFD")), "iiii"],
  [bytes("İIıi"), "ıIİi"],
  [bytes("%_*?'\"\\;--"), "%_*?'\"\\;--"],
  [bytes("＇ OR １=１"), "1=1"],
  [bytes("gecersiz-", 0xff, 0xfe, 0x80, ".bin"), "gecersiz-"],
  [bytes("latin-", 0xfd, 0xfe, 0xf0), "latin-"],
  [bytes("😀🏴󠁧󠁢󠁥󠁮󠁧󠁿.png"), "😀🏴"],
  [bytes("ş".repeat(127)), "şşşş"],
  [bytes("u", "ğ".repeat(2_000), ".pdf"), "uğğğ"],
  [Buffer.concat([bytes("q"), Buffer.alloc(4_000, 0xfe)]), "q\ufffd\ufffd"],
  [bytes("..."), "..."],
  [bytes("-rf ~"), "-rf"],
];

const encoded = (name: Buffer) => name.toString("hex").replaceAll(/../g, "%$&");
const id = await files.create("tuhaf");

test("a file of any name is taken, read, found, and has a history", async () => {
  for (const [at, [name]] of names.entries())
    assert.equal((await files.put(id, encoded(name), `${at}`)).status, 201, name.toString());
  assert.equal((await files.complete(id)).json?.file_count, names.length);
  for (const [at, [name, query]] of names.entries()) {
    const answer = await env.get(`/v1/snapshots/${id}/files/${encoded(name)}`);
    assert.deepEqual([answer.status, answer.body.toString()], [200, `${at}`], name.toString());
    const shown = await pathsOf(env, query, "&limit=100");
    assert.ok(shown.includes(name.toString()), `${query}: ${shown.join()}`);
    const history = await env.get(`/v1/files/history?source=tuhaf&path=${encoded(name)}`);
    assert.equal((history.json as unknown as PageJson<VersionJson>).data.length, 1, name.toString());
  }
  let seen = 0;
  for (let more: string | null = ""; more !== null; ) {
    const answer = await env.get(`/v1/snapshots/${id}/diff?limit=3${more}`);
    const { data, next_cursor: cursor } = answer.json as unknown as PageJson<unknown>;
    seen += data.length;
    more = cursor === null ? null : `&cursor=${cursor}`;
  }
  assert.equal(seen, names.length);
});

test("a download has one header with a name that a file system takes, in ASCII and in UTF-8", async () => {
  for (const [name] of names) {
    const link = await makeLink(env, id, { path: { base64: name.toString("base64") } });
    const { status, headers } = await env.service.send("GET", link);
    assert.equal(status, 200);
    const disposition = String(headers["content-disposition"]);
    const [, plain = "", , rest = ""] =
      /^attachment; filename="([ !#-[\]-~]*)"(; filename\*=UTF-8''([\w%.~!$&+^`|-]*))?$/.exec(disposition) ?? [];
    assert.notEqual(plain, "", disposition);
    assert.ok(plain.length <= 255 && Buffer.byteLength(decodeURIComponent(rest)) <= 255, `${disposition.length}`);
  }
});

test("422: what is no path; a NUL or half a character in a query is refused and not taken for something else", async () => {
  const next = await files.create("tuhaf");
  for (const path of ["%00", "a%00b", "%2E%2E", "a/%2E%2E/b", "a//b", "/a", "%2E"])
    assert.equal((await files.put(next, path, "1")).status, 422, path);
  for (const query of ["%00", "a%00", "%ED%A0%80", "%FF", "%E2%82"]) {
    const { status } = await env.get(`/v1/search?query=${query}`);
    assert.ok([200, 400, 422].includes(status), `${query}: ${status}`);
  }
  assert.equal((await env.get("/v1/search?query=%00")).status, 422);
});

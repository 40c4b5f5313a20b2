import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  closeSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { endMark, extendedHeader, member, receive, seenIn, testSpool } from "../../archives/testing.ts";
import { needs } from "../../testing/needs.ts";
import { type SnapshotJson, snapshotTest, tarOf } from "../testing.ts";

const env = await snapshotTest({ after });
const scratch = mkdtempSync(path.join(tmpdir(), "emanet-archive-"));
after(() => rmSync(scratch, { recursive: true }));

/** Names in no encoding, in Turkish, twice in Unicode; links, hard links, holes, times before 1970, odd modes. */
function makeFolder(root: string): void {
  const at = (name: string | Buffer) => Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name)]);
  mkdirSync(at("alt/boş"), { recursive: true });
  writeFileSync(at("İşğüçö ı.xml"), "fatura");
  writeFileSync(at("é".normalize("NFC")), "nfc");
  writeFileSync(at("é".normalize("NFD")), "nfd");
  writeFileSync(at(Buffer.from([0x66, 0x98, 0xff])), "not utf-8");
  writeFileSync(at("new\nline \"and\" 'quotes' %2F \\ #?"), "odd");
  writeFileSync(at("n".repeat(255)), "long name");
  writeFileSync(at("alt/none"), "");
  writeFileSync(
    at("alt/large.bin"),
    Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => (i * 7 + (i >> 9)) & 0xff)),
  );
  linkSync(at("alt/large.bin"), at("alt/other name"));
  symlinkSync("../none/such", at("alt/link"));
  symlinkSync("t".repeat(200), at("long link"));
  const sparse = openSync(at("alt/sparse"), "w");
  writeSync(sparse, "head");
  closeSync(sparse);
  truncateSync(at("alt/sparse"), 4_000_000);
  writeFileSync(at("script.sh"), "#!/bin/sh\n", { mode: 0o4755 });
  execFileSync("chmod", ["4755", path.join(root, "script.sh")]);
  utimesSync(at("alt/none"), -5.25, -5.25);
  utimesSync(at("script.sh"), 1_700_000_000.123456, 1_700_000_000.123456);
  lutimesSync(at("alt/link"), 1_600_000_000, 1_600_000_000);
  utimesSync(at("alt/boş"), 1_500_000_000, 1_500_000_000);
}

interface Fact {
  readonly path: string;
  readonly facts: readonly unknown[];
}

/** All that a backup keeps of a folder, in the order of names. */
function factsOf(root: string): readonly Fact[] {
  const all: Fact[] = [];
  const groups = new Map<bigint, string>();
  const visit = (relative: Buffer) => {
    const full = Buffer.concat([Buffer.from(`${root}/`), relative]);
    const stat = lstatSync(full, { bigint: true });
    const name = relative.toString("latin1");
    const common = [(stat.mode & 0o7777n).toString(8), stat.mtimeNs];
    if (stat.isSymbolicLink()) all.push({ path: name, facts: ["link", ...common, readlinkSync(full, "latin1")] });
    else if (stat.isFile()) {
      const first = groups.get(stat.ino) ?? name;
      groups.set(stat.ino, first);
      all.push({ path: name, facts: ["file", ...common, first, readFileSync(full).toString("latin1")] });
    } else {
      all.push({ path: name, facts: ["directory", ...common] });
      for (const child of readdirSync(full, { encoding: "buffer" }).sort(Buffer.compare))
        visit(Buffer.concat([...(relative.length === 0 ? [] : [relative, Buffer.from("/")]), child]));
    }
  };
  visit(Buffer.alloc(0));
  return all;
}

test("a folder comes back with every name, byte, mode, time and link, as tar and file by file", async (context) => {
  if (needs(context, "tar") === undefined) return;
  const from = path.join(scratch, "from");
  mkdirSync(from);
  makeFolder(from);
  const options = { cwd: from, maxBuffer: 2 ** 26 };
  const archive = execFileSync("tar", ["--format=pax", "--sparse", "--numeric-owner", "-c", "."], options);
  const made = await env.upload("source=hostile", archive);
  assert.equal(made.status, 201, made.body.toString());
  // The name that is there twice in Unicode.
  assert.equal(made.json?.warning_count, 1);
  const answer = await env.get(`/v1/snapshots/${made.json?.id}/archive?format=tar`);
  assert.equal(answer.headers["content-type"], "application/x-tar");
  assert.match(answer.headers["content-disposition"] ?? "", /^attachment; filename="[0-9a-f-]+\.tar"$/);
  const to = path.join(scratch, "to");
  mkdirSync(to);
  execFileSync("tar", ["-xpf", "-"], { cwd: to, input: answer.body, stdio: ["pipe", "ignore", "ignore"] });
  assert.deepEqual(factsOf(to), factsOf(from));
  for (const { path: name, facts } of factsOf(from)) {
    if (facts[0] !== "file") continue;
    const url = [...Buffer.from(name, "latin1")].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
    const file = await env.get(`/v1/snapshots/${made.json?.id}/files/${url}`);
    assert.equal(file.status, 200, name);
    assert.ok(file.body.equals(Buffer.from(String(facts.at(-1)), "latin1")), name);
  }
});

test("paths of 4096 bytes and of two thousand levels come back", async () => {
  const deep = `${"d/".repeat(2000)}f`;
  const wide = `${"w".repeat(2000)}/${"x".repeat(2095)}`;
  const members = [deep, wide].flatMap((name) => [extendedHeader({ path: name }), member({ name: "short" }, name)]);
  const made = await env.upload("source=deep", Buffer.concat([...members, endMark]));
  assert.equal(made.status, 201, made.body.toString());
  const { body } = await env.get(`/v1/snapshots/${made.json?.id}/archive`);
  const { spool } = await testSpool(after);
  const received = await receive(spool, body);
  const seen = await seenIn(received);
  assert.equal(seen[deep]?.size, deep.length);
  assert.equal(seen[wide]?.size, wide.length);
  await received.remove();
});

test("a path selects a part, with its whole path; a missing one is 404", async () => {
  const { id } = await env.completed("part", { "a/b/c": "1", "a/d": "2", e: "3" });
  const { spool } = await testSpool(after);
  const names = async (query: string) => {
    const received = await receive(spool, (await env.get(`/v1/snapshots/${id}/archive${query}`)).body);
    const seen = Object.keys(await seenIn(received));
    await received.remove();
    return seen;
  };
  assert.deepEqual(await names("?path=a/b"), ["", "a", "a/b", "a/b/c"]);
  assert.deepEqual(await names("?path=e"), ["", "e"]);
  assert.equal((await env.get(`/v1/snapshots/${id}/archive?path=none`)).status, 404);
});

test("the same snapshot always gives the same bytes, under one ETag", async () => {
  const { id } = await env.completed("same", { a: "1", b: "2" });
  const [one, two] = [await env.get(`/v1/snapshots/${id}/archive`), await env.get(`/v1/snapshots/${id}/archive`)];
  assert.ok(one.body.equals(two.body));
  assert.equal(one.headers.etag, two.headers.etag);
  const again = await env.get(`/v1/snapshots/${id}/archive`, { "if-none-match": one.headers.etag ?? "" });
  assert.equal(again.status, 304);
});

test("409 before it is completed, 410 when it has expired, 404 for another account", async () => {
  const queued = await env.send("POST", "/v1/snapshots", { source: "queued" });
  assert.equal((await env.get(`/v1/snapshots/${queued.json?.id}/archive`)).json?.code, "state_conflict");
  const { id } = await env.completed("old", { a: "1" });
  await env.rows("update emanet.snapshots set state = 'expired', expired_at = now() where id = $1", [id]);
  const expired = await env.get(`/v1/snapshots/${id}/archive`);
  assert.deepEqual([expired.status, expired.json?.code], [410, "snapshot_expired"]);
  const other = await snapshotOfOther();
  assert.equal((await env.get(`/v1/snapshots/${other.id}/archive`)).status, 404);
});

async function snapshotOfOther(): Promise<SnapshotJson> {
  const { tokenFor } = await import("../../testing/accounts.ts");
  const { auth } = await tokenFor(env.service, { as: "client", kind: "api" });
  return (await env.upload("source=x", tarOf({ a: "1" }), auth)).json as SnapshotJson;
}

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import path from "node:path";
import { after, describe, test } from "node:test";
import { needs } from "../testing/needs.ts";
import { receiveFile } from "./receive-file.ts";
import { type TarMember, tarBytesOf, tarEnd, tarHeaderOf, tarPaddingOf } from "./tar-writer.ts";
import { inPieces, receive, type Seen, seenIn, testFolder, testSpool } from "./testing.ts";

const { spool } = await testSpool(after);

const base = { mode: 0o644, uid: 1000, gid: 1000, mtimeSeconds: 1_700_000_000, mtimeNanos: 0 } as const;
const notUtf8 = Buffer.from([0x66, 0x98, 0xff]);
const longNotUtf8 = Buffer.concat([Buffer.from("n".repeat(120)), notUtf8]);

interface Given {
  readonly path: string | Buffer;
  readonly content?: string;
  readonly target?: string | Buffer;
  readonly type?: TarMember["type"];
  readonly stat?: Partial<TarMember>;
}

/** One of each thing that needs care, in the order of a walk. */
const given: readonly Given[] = [
  { path: "d", type: "directory", stat: { mode: 0o750 } },
  { path: notUtf8, content: "bytes" },
  { path: longNotUtf8, content: "long bytes" },
  { path: "d/İşğüçö ı.xml", content: "fatura" },
  { path: "d/link", type: "symbolic-link", target: "../plain", stat: { mode: 0o777 } },
  { path: "d/link to bytes", type: "symbolic-link", target: notUtf8, stat: { mode: 0o777 } },
  { path: "d/long link", type: "symbolic-link", target: "t".repeat(150), stat: { mode: 0o777 } },
  { path: Buffer.concat([Buffer.from("d/n"), notUtf8]), type: "symbolic-link", target: "ş".repeat(60) },
  { path: "e".repeat(99), type: "directory" },
  { path: "f".repeat(100), content: "as long as the field" },
  { path: "f".repeat(101), content: "a byte longer" },
  { path: "g".repeat(200), content: "longer" },
  { path: "new\nline \"quoted\" 'name' \\", content: "odd" },
  { path: "plain", content: "p".repeat(1024) },
  { path: "plain too", type: "hard-link", target: "plain" },
  { path: "times/before", content: "1", stat: { mtimeSeconds: -5 } },
  { path: "times/before, with a fraction", content: "2", stat: { mtimeSeconds: -6, mtimeNanos: 750_000_000 } },
  { path: "times/with nanoseconds", content: "3", stat: { mtimeNanos: 123_456_789 } },
  { path: "owners", content: "", stat: { uid: 4_000_000_000, gid: 3_000_000_000, mode: 0o600 } },
];

const members = given.map(({ path: name, content, target, type, stat }) => ({
  member: {
    type: type ?? "file",
    path: Buffer.from(name),
    target: target === undefined ? null : Buffer.from(target),
    size: content?.length ?? 0,
    ...base,
    ...stat,
  } satisfies TarMember,
  content: Buffer.from(content ?? ""),
}));

function archive(): Buffer {
  const parts = members.flatMap(({ member, content }) => [tarHeaderOf(member), content, tarPaddingOf(member.size)]);
  return Buffer.concat([...parts, tarEnd]);
}

test("the length of an archive is known from its members", () => {
  const bytes = members.reduce((sum, { member }) => sum + tarBytesOf(member), tarEnd.length);
  assert.equal(archive().length, bytes);
  assert.equal(bytes % 512, 0);
});

test("pax records are written only where ustar cannot say it", () => {
  const sizes = Object.fromEntries(
    members.map(({ member }) => [member.path.toString("latin1"), tarHeaderOf(member).length]),
  );
  assert.equal(sizes.plain, 512);
  assert.equal(sizes["f".repeat(100)], 512);
  assert.equal(sizes[notUtf8.toString("latin1")], 512, "a short name in no encoding is written as it is");
  assert.equal(sizes["f".repeat(101)], 1536);
  assert.equal(sizes["g".repeat(200)], 1536);
  assert.equal(sizes["times/before"], 1536);
});

test("the name of a directory ends with a slash, for readers that know no types", () => {
  const directory = { ...base, type: "directory", path: Buffer.from("d"), target: null, size: 0 } as const;
  assert.equal(tarHeaderOf(directory).toString("latin1", 0, 3), "d/\0");
});

test("a file of 8 GiB and more has its size in a record, a smaller one in the header", () => {
  const large = { ...base, type: "file", path: Buffer.from("l"), target: null, size: 8 * 2 ** 30 } as const;
  assert.match(tarHeaderOf(large).toString("latin1"), /\d+ size=8589934592\n/);
  assert.equal(tarHeaderOf({ ...large, size: large.size - 1 }).length, 512);
  assert.equal(tarBytesOf(large), 1536 + large.size);
});

/** The facts that our own reader must find, by path. */
function expected(): Record<string, Seen> {
  const seen: Record<string, Seen> = {};
  for (const { member } of members) {
    const { mode, uid, gid, mtimeSeconds, mtimeNanos } = member;
    const mtime = `${mtimeSeconds}.${String(mtimeNanos).padStart(9, "0")}`;
    seen[member.path.toString("latin1")] = { mode: mode.toString(8), uid, gid, mtime };
  }
  return seen;
}

test("our own reader gets every name, mode, owner, time and link target back", async () => {
  const received = await receive(spool, archive());
  const seen = await seenIn(received);
  for (const [name, facts] of Object.entries(expected())) {
    const { mode, uid, gid, mtime } = seen[name] ?? {};
    if (name === "plain too") continue;
    assert.deepEqual({ mode, uid, gid, mtime }, facts, name);
  }
  for (const { member, content } of members) {
    const found = seen[member.path.toString("latin1")] ?? {};
    if (member.type === "symbolic-link") assert.equal(found.target, member.target?.toString("latin1"));
    if (member.type === "file") assert.equal(found.size, content.length);
  }
  assert.equal(seen.plain?.group, seen["plain too"]?.group);
  await received.remove();
});

/** bsdtar 3.6 adds the fraction of a time before 1970 instead of subtracting it: half a second off here. */
const misreadByBsdtar = "times/before, with a fraction";

function assertExtracted(folder: string, program: string): void {
  const at = (name: Uint8Array) => Buffer.concat([Buffer.from(`${folder}/`), name]);
  for (const { member, content } of members) {
    const stat = lstatSync(at(member.path), { bigint: true });
    const name = member.path.toString("latin1");
    if (member.type === "symbolic-link") {
      assert.equal(readlinkSync(at(member.path), "latin1"), member.target?.toString("latin1"), name);
      continue;
    }
    const { mode, mtimeSeconds, mtimeNanos } = member;
    assert.equal(Number(stat.mode) & 0o7777, mode, name);
    if (member.type === "directory" || (program === "bsdtar" && name === misreadByBsdtar)) continue;
    // Python sets times as floating-point numbers.
    const difference = Number(stat.mtimeNs - (BigInt(mtimeSeconds) * 1_000_000_000n + BigInt(mtimeNanos)));
    assert.ok(Math.abs(difference) < 1_000, `${name}: ${difference} ns`);
    if (member.type === "file") assert.deepEqual(readFileSync(at(member.path)), content, name);
  }
  assert.equal(lstatSync(path.join(folder, "plain")).ino, lstatSync(path.join(folder, "plain too")).ino);
  assert.equal(readdirSync(folder).length, new Set(given.map(({ path: name }) => String(name).split("/")[0])).size);
}

describe("programs extract every name, byte, mode, time and link", () => {
  const extract = async (program: string, args: readonly string[]) => {
    const folder = await testFolder(after);
    const to = path.join(folder, "to");
    mkdirSync(to);
    execFileSync(program, args, { cwd: to, input: archive(), stdio: ["pipe", "pipe", "inherit"] });
    assertExtracted(to, program);
  };

  test("GNU tar", async (context) => {
    if (needs(context, "tar")) await extract("tar", ["--no-same-owner", "-xpf", "-"]);
  });

  test("bsdtar", async (context) => {
    if (needs(context, "bsdtar")) await extract("bsdtar", ["--no-same-owner", "-xpf", "-"]);
  });

  test("Python's tarfile", async (context) => {
    if (!needs(context, "python")) return;
    const program =
      'import sys, tarfile\nwith tarfile.open(fileobj=sys.stdin.buffer, mode="r|", encoding="utf-8", errors="surrogateescape") as t:\n for m in t:\n  m.uid = m.gid = 0\n  t.extract(m, set_attrs=True)';
    await extract("python3", ["-W", "ignore", "-c", program]);
  });
});

describe("one received file", () => {
  const { signal } = new AbortController();
  const options = { spool, owner: "a", mode: 0o640, mtimeMs: -1500, maxBytes: 100_000, signal };

  test("is walked with the directories above it, its bytes and its SHA-256", async () => {
    const content = Buffer.from("x".repeat(50_000));
    const file = await receiveFile(inPieces(content), { ...options, path: Buffer.from("a/b/İ.bak") });
    const seen = await seenIn(file);
    const directory = { type: "enter", mode: "755", uid: 0, gid: 0, mtime: "-2.500000000" };
    const sha256 = Buffer.from(file.sha256).toString("hex").slice(0, 16);
    assert.deepEqual(seen, {
      "": directory,
      a: directory,
      "a/b": directory,
      [Buffer.from("a/b/İ.bak").toString("latin1")]: {
        ...{ ...directory, type: "file", mode: "640" },
        ...{ size: 50_000, sha256 },
      },
    });
    assert.equal(file.sizeBytes, 50_000);
    await file.remove();
    assert.equal(spool.usedBytes, 0);
  });

  test("with a path that leaves the snapshot, is absolute or not plain is refused", async () => {
    for (const name of ["", "/a", "a//b", "a/", "./a", "a/./b", "../a", "a/..", "a\0b", "a".repeat(4097)])
      await assert.rejects(receiveFile(inPieces(Buffer.from("x")), { ...options, path: Buffer.from(name) }), {
        name: "InvalidArchiveError",
      });
    assert.equal(spool.usedBytes, 0);
  });

  test("that is larger than allowed, or whose client goes away, leaves nothing in the spool", async () => {
    const name = { path: Buffer.from("a") };
    await assert.rejects(receiveFile(inPieces(Buffer.alloc(100_001)), { ...options, ...name }), {
      name: "ArchiveTooLargeError",
    });
    const gone = async function* () {
      yield Buffer.alloc(10);
      throw new Error("gone");
    };
    await assert.rejects(receiveFile(gone(), { ...options, ...name }), { message: "gone" });
    assert.equal(spool.usedBytes, 0);
  });
});

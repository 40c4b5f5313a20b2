import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash, hash } from "node:crypto";
import {
  type BigIntStats,
  closeSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { after, describe, test } from "node:test";
import { needs } from "../testing/needs.ts";
import { receive, type Seen, seenIn, testFolder, testSpool } from "./testing.ts";

const { spool } = await testSpool(after);
const folder = await testFolder(after);

/** Long names, names in Turkish, in no encoding, links, hard links, a sparse file, times before 1970 and with nanoseconds. */
function makeTree(root: string): void {
  const at = (...parts: string[]) => path.join(root, ...parts);
  mkdirSync(at("d", "empty"), { recursive: true });
  mkdirSync(at("x".repeat(120), "y".repeat(120)), { recursive: true });
  writeFileSync(at("plain"), "plain");
  writeFileSync(at("none"), "");
  writeFileSync(at("d", "İşğüçö ı.xml"), "fatura");
  writeFileSync(Buffer.concat([Buffer.from(at("d/")), Buffer.from([0x66, 0x98, 0xff])]), "bytes");
  writeFileSync(at("x".repeat(120), "y".repeat(120), "z".repeat(120)), "long");
  writeFileSync(at("d", "large"), Buffer.alloc(300_000, "0123456789"));
  linkSync(at("d", "large"), at("d", "other name"));
  symlinkSync("../plain", at("d", "link"));
  symlinkSync("t".repeat(150), at("long link"));
  writeFileSync(at("sparse"), "");
  truncateSync(at("sparse"), 3_000_000);
  const sparse = openSync(at("sparse"), "r+");
  for (let part = 0; part < 30; part++) writeSync(sparse, "data", part * 98_304);
  closeSync(sparse);
  utimesSync(at("plain"), 1_700_000_000.25, 1_700_000_000.25);
  utimesSync(at("none"), -5, -5);
}

makeTree(folder);

/** The same facts as of a received archive, from the file system. */
function onDisk(withNanos: boolean): Record<string, Seen> {
  const seen: Record<string, Seen> = {};
  const groups = new Map<bigint, number>();
  const visit = (relative: string) => {
    const full = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(relative, "latin1")]);
    const stat = lstatSync(full, { bigint: true });
    seen[relative] = { ...factsOf(stat, withNanos), ...contentFacts(full, stat, groups) };
    if (!stat.isDirectory()) return;
    const names = readdirSync(full, { encoding: "latin1" }).sort();
    for (const name of names) visit(relative === "" ? name : `${relative}/${name}`);
  };
  visit("");
  return seen;
}

function factsOf(stat: BigIntStats, withNanos: boolean): Seen {
  const seconds =
    BigInt.asIntN(64, stat.mtimeNs - (((stat.mtimeNs % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n)) /
    1_000_000_000n;
  const nanos = withNanos ? stat.mtimeNs - seconds * 1_000_000_000n : 0n;
  const mode = (Number(stat.mode) & 0o7777).toString(8);
  const type = stat.isDirectory() ? "enter" : stat.isSymbolicLink() ? "link" : "file";
  return {
    type,
    mode,
    uid: Number(stat.uid),
    gid: Number(stat.gid),
    mtime: `${seconds}.${String(nanos).padStart(9, "0")}`,
  };
}

function contentFacts(full: Buffer, stat: BigIntStats, groups: Map<bigint, number>): Seen {
  if (stat.isSymbolicLink()) return { target: readlinkSync(full, "latin1") };
  if (!stat.isFile()) return {};
  const bytes = readFileSync(full);
  const sha256 = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  if (stat.nlink < 2n) return { size: bytes.length, sha256 };
  if (!groups.has(stat.ino)) groups.set(stat.ino, groups.size);
  return { size: bytes.length, sha256, group: groups.get(stat.ino) ?? 0 };
}

/** Root is chosen as a directory of the archive, so that its own stat is in it. */
function archiveOf(program: string, args: readonly string[]): Buffer {
  return execFileSync(program, args, { cwd: folder, maxBuffer: 64 * 2 ** 20 });
}

async function assertSame(archive: Buffer, withNanos: boolean, without: readonly string[] = []): Promise<void> {
  const received = await receive(spool, archive);
  try {
    const seen = await seenIn(received);
    const expected = onDisk(withNanos);
    for (const name of without) delete expected[name];
    assert.deepEqual(seen, expected);
  } finally {
    await received.remove();
  }
}

describe("a folder comes through an archive with every name, byte, mode, owner, time and link", () => {
  const gnu = ["--numeric-owner", "-c", "."];
  for (const [name, options, withNanos] of [
    ["GNU tar, format gnu", ["--format=gnu"], false],
    ["GNU tar, format oldgnu, sparse", ["--format=oldgnu", "--sparse"], false],
    ["GNU tar, format gnu, sparse", ["--format=gnu", "--sparse"], false],
    ["GNU tar, format pax", ["--format=pax"], true],
    ["GNU tar, format pax, sparse 0.0", ["--format=pax", "--sparse", "--sparse-version=0.0"], true],
    ["GNU tar, format pax, sparse 0.1", ["--format=pax", "--sparse", "--sparse-version=0.1"], true],
    ["GNU tar, format pax, sparse 1.0", ["--format=pax", "--sparse", "--sparse-version=1.0"], true],
  ] as const) {
    test(name, (context) => {
      if (needs(context, "tar")) return assertSame(archiveOf("tar", [...options, ...gnu]), withNanos);
      return undefined;
    });
  }

  test("GNU tar, formats v7 and ustar, as far as they can hold it", async (context) => {
    if (!needs(context, "tar")) return;
    const short = ["--exclude=./x*", "--exclude=./long link", "--exclude=./none"];
    const long = Object.keys(onDisk(false)).filter((name) => /^x|^long link$|^none$/.test(name));
    for (const format of ["v7", "ustar"])
      await assertSame(archiveOf("tar", [`--format=${format}`, ...short, ...gnu]), false, long);
  });

  test("bsdtar, formats pax and gnutar", async (context) => {
    if (!needs(context, "bsdtar")) return;
    await assertSame(archiveOf("bsdtar", ["--format=pax", "--numeric-owner", "-cf", "-", "."]), true);
    await assertSame(archiveOf("bsdtar", ["--format=gnutar", "--numeric-owner", "-cf", "-", "."]), false);
  });

  test("Python's tarfile, formats pax and gnu", async (context) => {
    if (!needs(context, "python")) return;
    for (const format of ["PAX_FORMAT", "GNU_FORMAT"]) {
      const program = `import sys, tarfile\nwith tarfile.open(fileobj=sys.stdout.buffer, mode="w|", format=tarfile.${format}, errors="surrogateescape", encoding="utf-8") as t: t.add(".")`;
      // It writes times as floating-point numbers, which are not exact to the nanosecond.
      const received = await receive(spool, archiveOf("python3", ["-c", program]));
      const strip = (seen: Record<string, Seen>) =>
        Object.entries(seen).map(([name, { mtime, ...rest }]) => [name, rest, Math.round(Number(mtime))]);
      assert.deepEqual(strip(await seenIn(received)), strip(onDisk(format === "PAX_FORMAT")));
      await received.remove();
    }
  });
});

test("the tree of these tests has a sparse file that tar writes as sparse", (context) => {
  if (!needs(context, "tar")) return;
  const whole = archiveOf("tar", ["-c", "sparse"]).length;
  assert.ok(archiveOf("tar", ["--sparse", "-c", "sparse"]).length < whole / 2);
  assert.equal(hash("sha256", readFileSync(path.join(folder, "sparse"))).length, 64);
});

/** Zip archives that we write are read by other programs, and theirs are read by us. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createCipheriv, createHash } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { after, describe, test } from "node:test";
import { crc32 } from "node:zlib";
import { needs, type Program } from "../testing/needs.ts";
import { scaled } from "../testing/scale.ts";
import { seededRandom } from "../testing/seeded-random.ts";
import { seenInZip } from "./testing/made-zips.ts";
import { type Listed, member, type Written, written, type ZipReader, zipReaders } from "./testing/zip-programs.ts";
import { type Seen, testFolder, testSpool } from "./testing.ts";

const { spool } = await testSpool(after);
const folder = await testFolder(after);
const large = Buffer.alloc(700_000, "0123456789");

const readers = Object.entries(zipReaders(path.join(folder, "readers"))) as [Program, ZipReader][];

/** What a program must list. */
function listedOf(all: readonly Written[], withCrc: boolean): readonly Listed[] {
  return all.map((each) => {
    const { path: name, type, size } = member(each);
    const crc = withCrc ? crc32(Buffer.from(each.content ?? "")) : null;
    return [name.toString() + (type === "directory" ? "/" : ""), size, crc] as const;
  });
}

const byName = (all: readonly Listed[]) => all.toSorted(([one], [other]) => (one < other ? -1 : 1));

describe("programs read what we write: every name, size and CRC-32, each byte checked", () => {
  const all: readonly Written[] = [
    { path: "d", type: "directory" },
    { path: "d/empty", content: "" },
    { path: "d/in blocks", content: large },
    { path: "d/İşğüçö ı.xml", content: "fatura" },
    { path: "d/sub", type: "directory" },
    { path: "stored", content: large.subarray(0, 200_000), stat: { mtimeNanos: 123_456_789, uid: 1000, gid: 1000 } },
    { path: "times/before 1970", content: "1", stat: { mtimeSeconds: -5 } },
    { path: "times/far", content: "2", stat: { mtimeSeconds: 5_000_000_000 } },
  ];

  for (const [program, read] of readers)
    test(program, async (context) => {
      const found = needs(context, program);
      if (found === undefined) return;
      const archive = path.join(folder, `${program}.zip`);
      writeFileSync(archive, await written(all, "a comment"));
      assert.deepEqual(byName(read(found, archive)), byName(listedOf(all, program !== "bsdtar")));
    });
});

test("70 000 files are in an archive of every program", async (context) => {
  const count = scaled(0, 70_000);
  if (count === 0) return context.skip("only in the long form");
  const all = Array.from({ length: count }, (_, at) => ({ path: `klasör/${at % 100}/${at}.xml`, content: `${at}` }));
  const archive = path.join(folder, "many.zip");
  writeFileSync(archive, await written(all));
  for (const [program, read] of readers) {
    const found = needs(context, program);
    if (found === undefined) continue;
    assert.deepEqual(byName(read(found, archive)), byName(listedOf(all, program !== "bsdtar")), program);
  }
});

/** What unpacking makes of a tree: type, mode, seconds of its time, content. */
function onDisk(root: string): Record<string, readonly unknown[]> {
  const all: Record<string, readonly unknown[]> = {};
  for (const name of readdirSync(root, { recursive: true, encoding: "utf8" }).sort()) {
    const full = path.join(root, name);
    const stat = lstatSync(full);
    const mode = (stat.mode & 0o7777).toString(8);
    const seconds = Math.floor(stat.mtimeMs / 1000);
    if (stat.isSymbolicLink()) all[name] = ["link", readlinkSync(full)];
    else if (stat.isDirectory()) all[name] = ["enter", mode, seconds];
    else all[name] = ["file", mode, seconds, sha256(readFileSync(full))];
  }
  return all;
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, 16);
}

/** The same facts of a received archive. */
function factsOf(seen: Record<string, Seen>): Record<string, readonly unknown[]> {
  const all = Object.entries(seen).filter(([name]) => name !== "");
  return Object.fromEntries(
    all.map(([name, { type, mode, mtime, target, sha256: content }]) => {
      const seconds = Math.floor(Number(mtime));
      const facts = type === "link" ? [target] : type === "enter" ? [mode, seconds] : [mode, seconds, content];
      return [Buffer.from(name, "latin1").toString(), [type, ...facts]];
    }),
  );
}

describe("unpacked, an archive of ours has every mode, time and link", () => {
  const all: readonly Written[] = [
    { path: "d", type: "directory", stat: { mode: 0o750, mtimeSeconds: 1_500_000_000 } },
    { path: "d/İş.sh", content: "#!/bin/sh", stat: { mode: 0o755, mtimeSeconds: 1_600_000_001 } },
    { path: "d/large", content: large, stat: { mode: 0o600, mtimeSeconds: 1_400_000_001 } },
    { path: "d/link", type: "symbolic-link", content: "large", stat: { mode: 0o777 } },
  ];
  const unpack: readonly (readonly [Program, (archive: string, to: string) => readonly string[]])[] = [
    ["unzip", (archive, to) => ["-q", archive, "-d", to]],
    ["bsdtar", (archive, to) => ["-xpf", archive, "-C", to]],
    ["sevenZip", (archive, to) => ["x", "-bso0", "-bsp0", "-snl", `-o${to}`, archive]],
  ];
  for (const [program, args] of unpack)
    test(program, async (context) => {
      const found = needs(context, program);
      if (found === undefined) return;
      const archive = path.join(folder, `unpack-${program}.zip`);
      const to = path.join(folder, `unpacked-${program}`);
      mkdirSync(to);
      writeFileSync(archive, await written(all));
      execFileSync(found, args(archive, to), { env: { ...process.env, LC_ALL: "C.UTF-8" } });
      assert.deepEqual(onDisk(to), factsOf(await seenInZip(spool, readFileSync(archive))));
    });
});

describe("a folder comes through an archive of other programs", () => {
  const root = path.join(folder, "from");
  const at = (...parts: string[]) => path.join(root, ...parts);
  mkdirSync(at("d", "empty"), { recursive: true });
  writeFileSync(at("d", "İşğüçö ı.xml"), "fatura".repeat(100));
  writeFileSync(at("d", "large"), large);
  writeFileSync(at("none"), "");
  writeFileSync(at("script"), "#!/bin/sh");
  chmodSync(at("script"), 0o755);
  symlinkSync("../none", at("d", "link"));
  for (const name of ["d/İşğüçö ı.xml", "d/large", "none", "script", "d/empty", "d"])
    utimesSync(at(name), 1_700_000_000, 1_700_000_000);

  const pythonWriter = (isStream: boolean) => `
import os, sys, zipfile
out = ${isStream ? "sys.stdout.buffer" : "sys.argv[1]"}
class Pipe:
    def __init__(self, f): self.f = f
    def write(self, b): return self.f.write(b)
    def flush(self): self.f.flush()
with zipfile.ZipFile(${isStream ? "Pipe(out)" : "out"}, 'w', zipfile.ZIP_DEFLATED) as z:
    for folder, folders, files in os.walk('.'):
        for name in folders + files:
            p = os.path.join(folder, name)
            if not os.path.islink(p): z.write(p)
`;
  const archive = path.join(folder, "theirs.zip");
  /** Programs that follow links or leave them out are given none. */
  const writers: readonly (readonly [
    string,
    Program,
    readonly string[],
    "file" | "stdout" | "pipe",
    "links" | "none",
  ])[] = [
    ["Info-ZIP", "zip", ["-qry", archive, "."], "file", "links"],
    ["Info-ZIP, streamed", "zip", ["-qr", "-", ".", "-x", "d/link"], "pipe", "none"],
    ["Info-ZIP, not compressed", "zip", ["-qry0", archive, "."], "file", "links"],
    ["bsdtar", "bsdtar", ["--format=zip", "-cf", "-", "."], "stdout", "links"],
    ["7-Zip", "sevenZip", ["a", "-tzip", "-snl", "-bso0", "-bsp0", archive, "."], "file", "links"],
    ["Python", "python", ["-c", pythonWriter(false), archive], "file", "none"],
    ["Python, streamed", "python", ["-c", pythonWriter(true)], "stdout", "none"],
    [
      "Java",
      "java",
      ["-Duser.timezone=Europe/Istanbul", "-m", "jdk.jartool/sun.tools.jar.Main", "cMf", archive, "."],
      "file",
      "none",
    ],
  ];
  for (const [name, program, args, to, links] of writers)
    test(name, async (context) => {
      const found = needs(context, program);
      if (found === undefined) return;
      const env = { ...process.env, LC_ALL: "C.UTF-8", TZ: "Europe/Istanbul" };
      execFileSync("rm", ["-f", archive]);
      // Info-ZIP writes to pipes, and not to the socket that Node gives it.
      const [command, options] = to === "pipe" ? ["sh", ["-c", '"$@" | cat', "sh", found, ...args]] : [found, args];
      const output = execFileSync(command, options, { cwd: root, maxBuffer: 2 ** 26, env });
      const seen = factsOf(await seenInZip(spool, to === "file" ? readFileSync(archive) : output));
      const expected = onDisk(root);
      const drop = (all: Record<string, readonly unknown[]>) =>
        Object.fromEntries(Object.entries(all).filter(([, [type]]) => links === "links" || type !== "link"));
      if (program === "java") assert.deepEqual(contentsOf(seen), contentsOf(onDisk(root)));
      else assert.deepEqual(drop(seen), drop(expected));
    });
});

/** Java knows no modes and follows links. */
function contentsOf(all: Record<string, readonly unknown[]>) {
  const files = Object.entries(all).filter(([name]) => !name.endsWith("link"));
  return files.map(([name, [type, , seconds, content]]) => [name, type, seconds, content]);
}

/** Writes archives that are given as JSON, with the methods and forms that are given with them. */
const pythonArchives = `
import base64, json, sys, zipfile
class Pipe:
    def __init__(self, f): self.f = f
    def write(self, b): return self.f.write(b)
    def flush(self): self.f.flush()
for a in json.load(sys.stdin):
    with open(a['to'], 'wb') as f:
        with zipfile.ZipFile(Pipe(f) if a['stream'] else f, 'w') as z:
            z.comment = a['comment'].encode()
            for e in a['entries']:
                i = zipfile.ZipInfo(e['name'], e['time'])
                i.external_attr = e['mode'] << 16
                i.compress_type = zipfile.ZIP_DEFLATED if e['deflated'] else zipfile.ZIP_STORED
                with z.open(i, 'w', force_zip64=e['zip64']) as o: o.write(base64.b64decode(e['content']))
`;

/** The parts of a name: Turkish, with spaces and points, long, one of another. */
const nameParts = ["a", "fatura", "İşğüçö ı", "a b.xml", "é".normalize("NFD"), "n".repeat(200), ".x", "100%", "日本"];

type Random = ReturnType<typeof seededRandom>;

function pick<T>(random: Random, values: readonly T[]): T {
  return values[random.integer(values.length)] ?? assert.fail("nothing to pick from");
}

/** Bytes that do not compress. */
function noise(random: Random, size: number): Buffer {
  const key = Buffer.alloc(16, String(random.integer(1_000_000)));
  return createCipheriv("aes-128-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(size));
}

/** A tree without conflicts: names by their number. */
function randomTree(random: Random): readonly Written[] {
  const directories = [""];
  return Array.from({ length: 1 + random.integer(25) }, (_, at) => {
    const name = `${pick(random, directories)}${pick(random, nameParts)}${at}`;
    const seconds = 1_500_000_000 + 2 * random.integer(100_000_000);
    const stat = { mtimeSeconds: seconds, mode: pick(random, [0o644, 0o600, 0o755, 0o4711]) };
    const kind = random.integer(10);
    if (kind === 0) directories.push(`${name}/`);
    if (kind === 0) return { path: name, type: "directory", stat } as const;
    if (kind === 1) return { path: name, type: "symbolic-link", content: "../target", stat } as const;
    const size = pick(random, [0, 1, 100, 5000, 65_535, 262_144, 262_145, random.integer(400_000)]);
    const content = random.integer(2) === 0 ? Buffer.alloc(size, `${at} `) : noise(random, size);
    return { path: name, content, stat } as const;
  });
}

const typeBits = { file: 0o100000, directory: 0o040000, "symbolic-link": 0o120000 };

test("random trees that we write and that Python writes are read alike", async (context) => {
  const python = needs(context, "python");
  if (python === undefined) return;
  const random = seededRandom(20_261_117);
  const trees = Array.from({ length: scaled(12, 300) }, () => randomTree(random));
  const archives = trees.map((tree, index) => ({
    to: path.join(folder, `random-${index}.zip`),
    stream: random.integer(2) === 0,
    comment: random.integer(2) === 0 ? "" : "yorum",
    entries: tree.map((each) => pythonEntry(each, random)),
  }));
  execFileSync(python, ["-c", pythonArchives], { input: JSON.stringify(archives) });
  for (const [index, tree] of trees.entries()) {
    const [ours, theirs] = [await written(tree), readFileSync(archives[index]?.to ?? "")];
    const seen = await seenInZip(spool, ours);
    assert.deepEqual(await seenInZip(spool, theirs), seen, `tree ${index}`);
    for (const each of tree) assert.deepEqual(factsOf(seen)[String(each.path)], expectedFacts(each), String(each.path));
  }
});

function pythonEntry(each: Written, random: Random) {
  const { path: name, type, mode, mtimeSeconds } = member(each);
  // Three hours ahead of UTC: the tree has no time before 2017.
  const local = new Date((mtimeSeconds + 3 * 3600) * 1000);
  return {
    name: name.toString() + (type === "directory" ? "/" : ""),
    time: [
      ...[local.getUTCFullYear(), local.getUTCMonth() + 1, local.getUTCDate()],
      ...[local.getUTCHours(), local.getUTCMinutes(), local.getUTCSeconds()],
    ],
    mode: typeBits[type] | mode,
    deflated: random.integer(2) === 0,
    zip64: random.integer(3) === 0,
    content: Buffer.from(each.content ?? "").toString("base64"),
  };
}

function expectedFacts(each: Written): readonly unknown[] {
  const { type, mode, mtimeSeconds } = member(each);
  if (type === "symbolic-link") return ["link", String(each.content)];
  const facts = [mode.toString(8), mtimeSeconds];
  return type === "directory" ? ["enter", ...facts] : ["file", ...facts, sha256(Buffer.from(each.content ?? ""))];
}

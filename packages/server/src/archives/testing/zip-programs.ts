/** For tests: zip archives from members in memory, and what other programs make of an archive. */

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Program } from "../../testing/needs.ts";
import { type ZipContent, type ZipMember, zipOf } from "../zip-writer.ts";

export interface Written {
  readonly path: string | Buffer;
  readonly type?: ZipMember["type"];
  readonly content?: string | Buffer;
  readonly stat?: Partial<ZipMember>;
}

export function member({ path: name, type = "file", content = "", stat }: Written): ZipMember {
  const base = { mode: 0o644, uid: 0, gid: 0, mtimeSeconds: 1_700_000_000, mtimeNanos: 0 };
  return { type, path: Buffer.from(name), size: Buffer.from(content).length, ...base, ...stat };
}

type Given = Written | { readonly member: ZipMember; readonly content: Buffer };

function contentOf(each: Given): ZipContent & { readonly content: Buffer } {
  const content = Buffer.from(each.content ?? "");
  return { member: "member" in each ? each.member : member(each), content, bytes: [content] };
}

/** The archive that our writer makes of members. */
export async function written(all: readonly Given[], comment = ""): Promise<Buffer> {
  const source = {
    contents: () => iterated(all, contentOf),
    members: () => iterated(all, (each) => contentOf(each).member),
    comment: () => comment,
  };
  return Buffer.concat(await Array.fromAsync(zipOf(source)));
}

async function* iterated<From, To>(all: readonly From[], make: (each: From) => To): AsyncGenerator<To> {
  for (const each of all) yield make(each);
}

/** Name, size and CRC-32 of an entry. Directories end with a slash. bsdtar prints no CRC-32: null. */
export type Listed = readonly [name: string, size: number, crc: number | null];

/** How a program says what an archive has, after it has read and checked every byte of it. */
export type ZipReader = (program: string, archive: string) => readonly Listed[];

/** Names are printed as they are. */
const inUtf8 = ["LC_ALL=C.UTF-8", "TZ=UTC"];

const run = (program: string, args: readonly string[]): string =>
  execFileSync("env", [...inUtf8, program, ...args], { encoding: "utf8", maxBuffer: 2 ** 28 });

const linesOf = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");

const pythonReader = `
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    assert z.testzip() is None
    print(json.dumps([[i.filename, i.file_size, i.CRC] for i in z.infolist()]))
`;

/** Both readers of Java: by the directory, and from the front. */
const javaReader = `
import java.io.*; import java.util.*; import java.util.zip.*;
public class ZipCheck {
  public static void main(String[] args) throws Exception {
    StringBuilder text = new StringBuilder("[");
    byte[] buffer = new byte[1 << 16];
    Map<String, Long> fromFront = new HashMap<>();
    try (ZipInputStream in = new ZipInputStream(new BufferedInputStream(new FileInputStream(args[0]), 1 << 16))) {
      for (ZipEntry e; (e = in.getNextEntry()) != null; ) {
        CRC32 crc = new CRC32();
        for (int n; (n = in.read(buffer)) >= 0; ) crc.update(buffer, 0, n);
        fromFront.put(e.getName(), crc.getValue());
      }
    }
    try (ZipFile zip = new ZipFile(args[0])) {
      for (Enumeration<? extends ZipEntry> all = zip.entries(); all.hasMoreElements(); ) {
        ZipEntry e = all.nextElement();
        CRC32 crc = new CRC32();
        try (InputStream in = zip.getInputStream(e)) { for (int n; (n = in.read(buffer)) >= 0; ) crc.update(buffer, 0, n); }
        if (crc.getValue() != e.getCrc()) throw new Exception("crc");
        if (!fromFront.containsKey(e.getName()) || fromFront.get(e.getName()) != e.getCrc()) throw new Exception("front");
        if (text.length() > 1) text.append(",");
        text.append("[\\"").append(e.getName().replace("\\\\", "\\\\\\\\").replace("\\"", "\\\\\\"")).append("\\",").append(e.getSize()).append(",").append(e.getCrc()).append("]");
      }
      if (zip.size() != fromFront.size()) throw new Exception("count");
    }
    PrintStream out = new PrintStream(System.out, true, "UTF-8");
    out.println(text.append("]"));
  }
}
`;

/** The programs that read archives. Their own files go to the folder. */
export function zipReaders(folder: string) {
  const script = (name: string, text: string) => {
    const file = path.join(folder, name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  return {
    unzip: (program, archive) => {
      run(program, ["-tqq", archive]);
      return linesOf(run(program, ["-vqq", archive])).map(unzipLine);
    },
    sevenZip: (program, archive) => {
      run(program, ["t", "-bso0", "-bsp0", archive]);
      return run(program, ["l", "-slt", "-ba", "-sccUTF-8", archive]).split("\n\n").flatMap(sevenZipBlock);
    },
    bsdtar: (program, archive) => {
      execFileSync("env", [...inUtf8, program, "-xOf", archive], { stdio: ["ignore", "ignore", "inherit"] });
      return linesOf(run(program, ["-tvf", archive])).map(bsdtarLine);
    },
    python: (program, archive) => JSON.parse(run(program, [script("reader.py", pythonReader), archive])) as Listed[],
    java: (program, archive) => {
      const options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"];
      return JSON.parse(run(program, [...options, script("ZipCheck.java", javaReader), archive])) as Listed[];
    },
  } satisfies Partial<Record<Program, ZipReader>>;
}

/** Length, method, size, ratio, date, time, CRC-32, name. */
function unzipLine(line: string): Listed {
  const [, size, crc = "", name = line] =
    /^\s*(\d+)\s+\S+\s+\d+\s+\S+\s+\S+\s+\S+\s+([0-9a-f]{8})\s\s(.*)$/.exec(line) ?? [];
  return [name, Number(size), Number.parseInt(crc, 16)];
}

/** Lines `key = value`. */
function sevenZipBlock(block: string): readonly Listed[] {
  const fields = new Map([...block.matchAll(/^(\w+) = (.*)$/gm)].map(([, key, value]) => [key, value]));
  const name = fields.get("Path");
  if (name === undefined) return [];
  const slash = fields.get("Folder") === "+" ? "/" : "";
  return [[name + slash, Number(fields.get("Size")), Number.parseInt(fields.get("CRC") || "0", 16)]];
}

/** As `ls -l`: type and mode, links, owner, group, size, date in three words, name. */
function bsdtarLine(line: string): Listed {
  const [, type, size, name = line] = /^(.)\S+\s+\d+\s+\S+\s+\S+\s+(\d+)\s+\S+\s+\S+\s+\S+ (.*)$/.exec(line) ?? [];
  return [type === "l" ? name.replace(/ -> .*$/, "") : name, Number(size), null];
}

/** For tests: what other programs make of a tar archive. */

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Program } from "../../testing/needs.ts";

/** Name and size of an entry. Directories end with a slash. */
export type TarListed = readonly [name: string, size: number];

/** How a program says what an archive has, after it has read every byte of it. */
export type TarReader = (program: string, archive: string) => readonly TarListed[];

/** Names are printed as they are. */
const inUtf8 = ["LC_ALL=C.UTF-8", "TZ=UTC"];

const pythonReader = `
import json, sys, tarfile
found = []
with tarfile.open(sys.argv[1], "r:") as t:
    for m in t:
        name = m.name + "/" if m.isdir() else m.name
        read = 0
        if m.isfile():
            f = t.extractfile(m)
            while True:
                chunk = f.read(1 << 20)
                if not chunk: break
                read += len(chunk)
        found.append([name, read])
print(json.dumps(found))
`;

/** The programs that read tar archives. Their own files go to the folder. */
export function tarReaders(folder: string) {
  return {
    tar: listed,
    bsdtar: listed,
    python: (program, archive) => {
      mkdirSync(folder, { recursive: true });
      const script = path.join(folder, "tar-reader.py");
      writeFileSync(script, pythonReader);
      return JSON.parse(run(program, [script, archive])) as TarListed[];
    },
  } satisfies Partial<Record<Program, TarReader>>;
}

function listed(program: string, archive: string): readonly TarListed[] {
  // `-O` writes every file to the standard output.
  execFileSync(program, ["-xOf", archive], { stdio: ["ignore", "ignore", "inherit"] });
  return run(program, ["-tvf", archive, "--numeric-owner"])
    .split("\n")
    .filter((line) => line !== "")
    .map(lineOf);
}

/** As `ls -l`. GNU tar: mode, owner/group, size, date, time, name. bsdtar: mode, links, owner, group, size, three words of date, name. */
function lineOf(line: string): TarListed {
  const gnu = /^(.)\S+\s+\d+\/\d+\s+(\d+)\s+\S+\s+\S+ (.*)$/.exec(line);
  const [, type, size, name = line] =
    gnu ?? /^(.)\S+\s+\d+\s+\d+\s+\d+\s+(\d+)\s+\S+\s+\S+\s+\S+ (.*)$/.exec(line) ?? [];
  return [type === "l" ? name.replace(/ -> .*$/, "") : name, Number(size)];
}

function run(program: string, args: readonly string[]): string {
  return execFileSync("env", [...inUtf8, program, ...args], { encoding: "utf8", maxBuffer: 2 ** 28 });
}

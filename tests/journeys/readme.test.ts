// long: 15 s

/**
 * The five lines of README.md, as they are there, in a copy of the checkout: `npm start` in one process, the lines in a terminal. Only the
 * folder for temporary files is another one than /tmp, and the port is a free one, so that tests can run beside each other.
 */

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import type { Cleanup } from "../../packages/server/src/testing/database.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";

const root = path.resolve(import.meta.dirname, "../..");

/** The commands of a section: what is in its first block of code. */
function commandsOf(section: string): readonly string[] {
  const [, text = ""] = readFileSync(path.join(root, "README.md"), "utf8").split(`\n## ${section}\n`);
  const [, block = ""] = /```sh\n([\s\S]*?)```/.exec(text) ?? [];
  return block.split("\n").filter((line) => line !== "");
}

/** The files of the checkout, without what is not part of it. Installed packages are those of the checkout. */
function copyCheckout(folder: string): string {
  const copy = path.join(folder, "emanet");
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root });
  for (const file of listed.toString().split("\0"))
    if (file !== "") cpSync(path.join(root, file), path.join(copy, file), { recursive: true });
  for (const modules of ["node_modules", "packages/server/node_modules"])
    symlinkSync(path.join(root, modules), path.join(copy, modules));
  return copy;
}

interface Ended {
  readonly code: number;
  /** What the terminal was sent. */
  readonly output: string;
}

/** Runs a line of a shell in a terminal. */
async function inTerminal(line: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Ended> {
  const child = spawn("script", ["--quiet", "--return", "--command", line, "/dev/null"], {
    ...{ cwd, env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  const [code] = await once(child, "close");
  return { code: Number(code), output };
}

/** Starts `npm start` and resolves when it says that it is ready. */
async function npmStart(cleanup: Cleanup, cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  // A group of its own: Ctrl-C in a terminal reaches npm and what it started.
  const child = spawn("npm", ["start"], { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const ended = once(child, "close");
  cleanup.after(async () => {
    process.kill(-(child.pid ?? 0), "SIGINT");
    await ended;
  });
  let printed = "";
  const ready = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        printed += text;
        if (/^ready https:\/\/127\.0\.0\.1:\d+$/m.test(printed)) resolve();
      });
  });
  await Promise.race([ready, ended.then(() => assert.fail(`npm start ended: ${printed}`))]);
}

const units: Readonly<Record<string, number>> = { B: 1, KB: 1e3, MB: 1e6 };

/** From the line of a summary. */
function sentBytes(output = ""): number {
  const [, number, unit = ""] = /sent +([\d.]+) (B|KB|MB)\b/.exec(output) ?? [];
  return Number(number) * (units[unit] ?? Number.NaN);
}

test("README: after `npm start`, five lines back up a folder with a progress bar, change a file, back up again, find it and restore it", async (t) => {
  const cleanup = inReverse(t);
  const folder = await temporaryFolder(cleanup);
  assert.ok(commandsOf("Two commands").some((line) => line.startsWith("npm start ")));
  const lines = commandsOf("Five lines");
  assert.equal(lines.length, 5);
  const copy = copyCheckout(folder);
  const home = path.join(folder, "home");
  mkdirSync(home);
  const { PATH, NODE_COMPILE_CACHE = path.join(root, ".cache/compile") } = process.env;
  const env = { PATH, HOME: home, LANG: "C.UTF-8", TERM: "xterm", NODE_COMPILE_CACHE };
  await npmStart(cleanup, copy, { ...env, EMANET_LISTEN: "127.0.0.1:0" });
  const ran: Ended[] = [];
  for (const line of lines) {
    const ended = await inTerminal(line.replaceAll("/tmp/", `${folder}/`), copy, env);
    assert.equal(ended.code, 0, `${line}\n${ended.output}`);
    ran.push(ended);
  }
  const [, first, second, found, restored] = ran.map(({ output }) => output);
  for (const output of [first, second])
    assert.match(output ?? "", /\[[#.]{20}\] .*\d+ % .*files.*\/s/, "a bar is drawn");
  assert.match(first ?? "", /belgeler is backed up/);
  assert.ok(sentBytes(second) < sentBytes(first) / 4, "the second backup sends what changed");
  assert.match(found ?? "", /belgeler: ROLES\.md/);
  assert.match(restored ?? "", /1 files restored/);
  assert.match(readFileSync(path.join(folder, "geri/ROLES.md"), "utf8"), /\nyeni\n$/);
});

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../packages/server/src/testing/temporary-folder.ts";

const root = path.resolve(import.meta.dirname, "..");
const files = ["packages/server/schema.txt", "packages/server/src/kernel/database/rows.generated.ts"];

test("--check names each stale file with its first differing line, fails and writes nothing", async (t) => {
  const folder = await temporaryFolder(t);
  const [stale = "", missing = ""] = files;
  await mkdir(path.dirname(path.join(folder, stale)), { recursive: true });
  await cp(path.join(root, stale), path.join(folder, stale));
  const committed = `${await readFile(path.join(folder, stale), "utf8")}one line too many\n`;
  await writeFile(path.join(folder, stale), committed);
  const { status, output } = await generate(`--root=${folder}`, "--check");
  assert.equal(status, 1);
  assert.match(output, new RegExp(`${stale} is not up to date\\n  line \\d+\\n  - one line too many\\n`));
  assert.match(output, new RegExp(`${missing} is not up to date\\n  line 1\\n`));
  assert.match(output, /run `npm run generate`/);
  assert.equal(await readFile(path.join(folder, stale), "utf8"), committed);
  assert.deepEqual(await readdir(path.dirname(path.join(folder, stale))), ["schema.txt"]);
});

function generate(...args: readonly string[]): Promise<{ status: number; output: string }> {
  const options = ["--disable-warning=ExperimentalWarning", path.join(root, "tools", "generate.ts"), ...args];
  return new Promise((resolve) => {
    const child = execFile(process.execPath, options, (_, stdout, stderr) => {
      resolve({ status: child.exitCode ?? -1, output: stdout + stderr });
    });
  });
}

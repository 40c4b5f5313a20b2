import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, type TestContext, test } from "node:test";
import { processEnded } from "../packages/server/src/testing/processes.ts";
import { temporaryFolder } from "../packages/server/src/testing/temporary-folder.ts";

const root = path.resolve(import.meta.dirname, "..");

test("a passing file: status 0, the runner's summary last, nothing left behind", async (t) => {
  const run = await startRun(t, `test("a database is there", async (t) => { await testDatabase(t); });`);
  const { status, output } = await run.end();
  assert.equal(status, 0, output);
  assert.match(output, /✔ a database is there.*\n(ℹ .*\n)+$/s);
  await run.assertNothingLeft();
});

test("a failing test: status 1, nothing left behind", async (t) => {
  const run = await startRun(t, `test("no", async (t) => { await testDatabase(t); throw new Error("no"); });`);
  const { status, output } = await run.end();
  assert.equal(status, 1, output);
  assert.match(output, /ℹ fail 1\n/);
  await run.assertNothingLeft();
});

const lateErrors = [
  [
    "an unhandled rejection in a test",
    `test("t", async () => { Promise.reject(new Error("late")); await delay(1); });`,
  ],
  [
    "an error that a timer throws",
    `test("t", async () => { setTimeout(() => { throw new Error("late"); }); await delay(20); });`,
  ],
  ["a rejection after the last test", `test("t", () => {}); setTimeout(() => Promise.reject(new Error("late")), 50);`],
] as const;
describe("an error that no test catches fails the run and is shown", { concurrency: true }, () => {
  for (const [name, body] of lateErrors) {
    test(name, async (t) => {
      const run = await startRun(t, `import { setTimeout as delay } from "node:timers/promises";\n${body}`);
      const { status, output } = await run.end();
      assert.equal(status, 1, output);
      assert.match(output, /late/);
      await run.assertNothingLeft();
    });
  }
});

test("a file with parts runs once per part, each in its own process", async (t) => {
  const body = ["// parts: 3", 'test("part " + process.env.EMANET_TEST_PART, () => console.log("pid", process.pid));'];
  const run = await startRun(t, body.join("\n"));
  const { status, output } = await run.end();
  assert.equal(status, 0, output);
  assert.match(output, /ℹ tests 3\n/);
  for (const part of [0, 1, 2]) assert.match(output, new RegExp(`✔ part ${part} `));
  assert.equal(new Set(output.match(/pid \d+/g)).size, 3);
  await run.assertNothingLeft();
});

const hangs = [
  ["a test that never ends", `test("t", () => new Promise(() => setInterval(() => {}, 1000)));`],
  ["a file that keeps running after its tests", `test("t", () => {}); setInterval(() => {}, 1000);`],
  ["a file in an endless loop", `test("t", () => { for (;;); });`],
] as const;
describe("what does not end is ended at the time limit, and fails the run", { concurrency: true }, () => {
  for (const [name, body] of hangs) {
    test(name, async (t) => {
      const run = await startRun(t, body, ["--file-timeout=1"]);
      const { status, output } = await run.end();
      assert.equal(status, 1, output);
      assert.match(output, /sample\.test\.ts did not end within 1 s/);
      await run.assertNothingLeft();
    });
  }
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  test(`${signal} ends the run, its test files and its server`, async (t) => {
    const body = `test("waits", async (t) => {
      await testDatabase(t);
      process.stdout.write("waiting as " + process.pid + "\\n");
      await new Promise((resolve) => setTimeout(resolve, 600_000));
    });`;
    const run = await startRun(t, body);
    const [, pid] = await run.says(/waiting as (\d+)/);
    run.process.kill(signal);
    const { status } = await run.end();
    assert.equal(status, signal === "SIGINT" ? 130 : 143);
    await processEnded(Number(pid));
    await run.assertNothingLeft();
  });
}

test("a file or folder without tests is refused", async (t) => {
  const folder = await temporaryFolder(t);
  const child = spawn(process.execPath, [path.join(root, "tools/test.ts"), folder], { stdio: "ignore" });
  assert.deepEqual(await once(child, "exit"), [1, null]);
});

test("a test file that is started by hand says how to start it", async (t) => {
  const { file } = await writeTest(t, `test("t", async (t) => { await testDatabase(t); });`);
  const child = spawn(process.execPath, [file], { env: {}, stdio: ["ignore", "pipe", "ignore"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk;
  });
  await once(child, "close");
  assert.match(output, /Run it with: npm test -- /);
});

async function writeTest(t: TestContext, body: string): Promise<{ folder: string; file: string }> {
  const folder = await temporaryFolder(t);
  const file = path.join(folder, "sample.test.ts");
  const testing = path.join(root, "packages/server/src/testing/database.ts");
  const imports = `import { test } from "node:test";\nimport { testDatabase } from ${JSON.stringify(testing)};\n`;
  await writeFile(file, `${imports}void testDatabase;\n${body}\n`);
  await mkdir(path.join(folder, "tmp"));
  return { folder, file };
}

/** Runs `tools/test.ts` on one test file, with a separate temporary folder that the test can inspect afterwards. */
async function startRun(t: TestContext, body: string, options: readonly string[] = []) {
  const { folder, file } = await writeTest(t, body);
  const temporary = path.join(folder, "tmp");
  const child = spawn(process.execPath, [path.join(root, "tools/test.ts"), file, ...options], {
    env: { ...process.env, TMPDIR: temporary, FORCE_COLOR: "0" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.after(() => child.kill("SIGTERM"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk;
    });
  }
  const closed = once(child, "close") as Promise<[number | null]>;
  return {
    process: child,
    end: async () => ({ status: (await closed)[0], output }),
    async says(pattern: RegExp): Promise<RegExpExecArray> {
      for (;;) {
        const found = pattern.exec(output);
        if (found !== null) return found;
        await Promise.race([once(child.stdout, "data"), closed.then(() => assert.fail(output))]);
      }
    },
    assertNothingLeft: async () => assert.deepEqual(await readdir(temporary), []),
  };
}

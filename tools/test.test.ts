// long: 30 s

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, type TestContext, test } from "node:test";
import { testServerVariable } from "../packages/server/src/testing/database.ts";
import { processEnded } from "../packages/server/src/testing/processes.ts";
import { temporaryFolder } from "../packages/server/src/testing/temporary-folder.ts";
import { groupTests } from "./test-groups.ts";
import { splitTests } from "./test-parts.ts";

/** One test file. */
const one = (body: string) => ({ "sample.test.ts": body });

const root = path.resolve(import.meta.dirname, "..");

test("a passing file: status 0, the runner's summary last, nothing left behind", async (t) => {
  const run = await startRun(t, one(`test("a database is there", async (t) => { await testDatabase(t); });`), {
    ownServer: true,
  });
  const { status, output } = await run.end();
  assert.equal(status, 0, output);
  assert.match(output, /✔ a database is there.*\n(ℹ .*\n)+$/s);
  await run.assertNothingLeft();
});

test("a failing test: status 1, nothing left behind", async (t) => {
  const run = await startRun(t, one(`test("no", async (t) => { await testDatabase(t); throw new Error("no"); });`), {
    ownServer: true,
  });
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
      const run = await startRun(t, one(`import { setTimeout as delay } from "node:timers/promises";\n${body}`));
      const { status, output } = await run.end();
      assert.equal(status, 1, output);
      assert.match(output, /late/);
      await run.assertNothingLeft();
    });
  }
});

test("a file with parts runs once per part, each in its own process", async (t) => {
  const body = ["// parts: 3", 'test("part " + process.env.EMANET_TEST_PART, () => console.log("pid", process.pid));'];
  const run = await startRun(t, one(body.join("\n")));
  const { status, output } = await run.end();
  assert.equal(status, 0, output);
  assert.match(output, /ℹ tests 3\n/);
  for (const part of [0, 1, 2]) assert.match(output, new RegExp(`✔ part ${part} `));
  assert.equal(new Set(output.match(/pid \d+/g)).size, 3);
  await run.assertNothingLeft();
});

test("a file with heavy parts is split in heavy runs only", async (t) => {
  const { folder, files } = await writeTests(t, { "a.test.ts": "// heavy parts: 3", "b.test.ts": "// parts: 2" });
  const inRun = (isHeavy: boolean) => splitTests(files, folder, path.join(folder, "entries"), isHeavy);
  assert.deepEqual([inRun(false).parts.length, inRun(true).parts.length], [2, 5]);
  assert.deepEqual([inRun(false).whole.length, inRun(true).whole.length], [1, 0]);
});

test("files share a process, one after the other; hooks of a file run at its end", async (t) => {
  const body = (name: string) => `
    import { after, before } from "node:test";
    console.log("${name} loaded by", process.pid);
    before(() => console.log("${name} begins"));
    after(() => console.log("${name} ends"));
    test("t", async () => { await new Promise((resolve) => setImmediate(resolve)); console.log("${name} runs"); });`;
  const alone = `// own process: to see that it gets one\n${body("c")}`;
  const run = await startRun(t, { "a.test.ts": body("a"), "b.test.ts": body("b"), "c.test.ts": alone });
  const { status, output } = await run.end();
  assert.equal(status, 0, output);
  assert.match(output, /ℹ tests 3\n/);
  const said = [...output.matchAll(/\b([ab] (?:begins|runs|ends|loaded))/g)].map(([, words]) => words);
  const steps = ["loaded", "begins", "runs", "ends"];
  assert.deepEqual(said, [...steps.map((step) => `a ${step}`), ...steps.map((step) => `b ${step}`)]);
  const [a, b, c] = ["a", "b", "c"].map((name) => new RegExp(`${name} loaded by (\\d+)`).exec(output)?.[1]);
  assert.equal(a, b);
  assert.notEqual(a, c);
});

test("files that say how long they take have a process each, and the longest starts first", async (t) => {
  const { folder, files } = await writeTests(t, {
    "a.test.ts": "",
    "b.test.ts": "// long: 9 s",
    "c.test.ts": "// own process: to see where it comes",
    "d.test.ts": "// long: 20 s",
    "e.test.ts": "",
  });
  const parent = path.dirname(path.dirname(folder));
  const names = files.map((file) => path.relative(parent, file));
  const entries = groupTests(names, parent, path.join(folder, "entries")).toSorted();
  const contained = await Promise.all(entries.map((entry) => readFile(entry, "utf8")));
  const found = contained.map((text) => text.match(/[a-e]\.test\.ts/g)?.join(" "));
  assert.deepEqual(found, ["d.test.ts", "b.test.ts", "c.test.ts", "a.test.ts e.test.ts"]);
});

/** Bodies of test files, and what the run says about the file. */
const groupFailures: Readonly<Record<string, readonly [body: string, says: RegExp]>> = {
  "fails.test.ts": [`test("t", () => { throw new Error("no"); });`, /test at .*fails\.test\.ts:\d+:\d+\n✖ t/],
  "cannot-be-loaded.test.ts": [`throw new Error("no");`, /▶ .*cannot-be-loaded\.test\.ts\n +✖ the file is loaded/],
  "changes-environment.test.ts": [
    `test("t", () => { process.env.LEFT_BEHIND = "a secret"; });`,
    /✖ .*changes-environment\.test\.ts leaves its process[\s\S]*'changed: environment LEFT_BEHIND'/,
  ],
  "changes-folder.test.ts": [
    `test("t", () => process.chdir("/"));`,
    /✖ .*changes-folder\.test\.ts leaves its process[\s\S]*'changed: folder'/,
  ],
  "listens-for-signals.test.ts": [
    `test("t", () => { process.on("SIGHUP", () => {}); });`,
    /✖ .*listens-for-signals\.test\.ts leaves its process[\s\S]*'changed: listeners SIGHUP'/,
  ],
  "leaves-server.test.ts": [
    `import { createServer } from "node:net"; test("t", (t, done) => { createServer().unref().ref().listen(0, done); });`,
    /✖ .*leaves-server\.test\.ts leaves its process[\s\S]*'left open: TCPServerWrap'/,
  ],
};

test("in a group: each kind of failure is counted and names its file, and the next file runs", async (t) => {
  const bodies = Object.entries(groupFailures).map(([file, [body]]) => [file, body] as const);
  const run = await startRun(t, { ...Object.fromEntries(bodies), "next.test.ts": `test("next", () => {});` });
  const { status, output } = await run.end();
  assert.equal(status, 1, output);
  assert.match(output, /✔ next/);
  assert.match(output, new RegExp(`ℹ fail ${bodies.length}\n`));
  for (const [, says] of Object.values(groupFailures)) assert.match(output, says);
  assert.doesNotMatch(output, /a secret/);
});

const endings = [
  ["that ends its process", `test("t", () => process.exit(0));`, /bad\.test\.ts ended its process with status 0/],
  [
    "whose last hook fails",
    `import { after } from "node:test"; test("t", () => {}); after(() => { throw new Error("no"); });`,
    /✖ .*bad\.test\.ts/,
  ],
] as const;
describe("in a group: a file fails the run and is named", { concurrency: true }, () => {
  for (const [name, body, says] of endings) {
    test(name, async (t) => {
      const run = await startRun(t, { "bad.test.ts": body, "next.test.ts": `test("next", () => {});` });
      const { status, output } = await run.end();
      assert.equal(status, 1, output);
      assert.match(output, says);
    });
  }
});

const hangs = [
  ["a test that never ends", `test("t", () => new Promise(() => setInterval(() => {}, 1000)));`],
  ["a file that keeps running after its tests", `test("t", () => {}); setInterval(() => {}, 1000);`],
  ["a file in an endless loop", `test("t", () => { for (;;); });`],
] as const;
describe("what does not end is ended at the time limit, and fails the run", { concurrency: true }, () => {
  for (const [name, body] of hangs) {
    test(name, async (t) => {
      const run = await startRun(t, one(body), { args: ["--file-timeout=1"] });
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
    const run = await startRun(t, one(body), { ownServer: true });
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
  const { files } = await writeTests(t, one(`test("t", async (t) => { await testDatabase(t); });`));
  const child = spawn(process.execPath, [...files], { env: {}, stdio: ["ignore", "pipe", "ignore"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk;
  });
  await once(child, "close");
  assert.match(output, /Run it with: npm test -- /);
});

/** Test files by name. */
type Bodies = Readonly<Record<string, string>>;

async function writeTests(t: TestContext, bodies: Bodies): Promise<{ folder: string; files: readonly string[] }> {
  const folder = await temporaryFolder(t);
  const testing = path.join(root, "packages/server/src/testing/database.ts");
  const imports = `import { test } from "node:test";\nimport { testDatabase } from ${JSON.stringify(testing)};\n`;
  const files = Object.keys(bodies).map((name) => path.join(folder, name));
  for (const [name, body] of Object.entries(bodies)) {
    await writeFile(path.join(folder, name), `${imports}void testDatabase;\n${body}\n`);
  }
  await mkdir(path.join(folder, "tmp"));
  return { folder, files };
}

interface RunOptions {
  readonly args?: readonly string[];
  /** A PostgreSQL server of its own, as for a person who runs tests; else it uses the server of this test's run. */
  readonly ownServer?: boolean;
}

/** Runs `tools/test.ts` on test files, with a separate temporary folder that the test can inspect afterwards. */
async function startRun(t: TestContext, bodies: Bodies, { args = [], ownServer = false }: RunOptions = {}) {
  const { folder, files } = await writeTests(t, bodies);
  const temporary = path.join(folder, "tmp");
  const server = ownServer ? { [testServerVariable]: undefined } : {};
  const child = spawn(process.execPath, [path.join(root, "tools/test.ts"), ...files, ...args], {
    env: { ...process.env, ...server, TMPDIR: temporary, FORCE_COLOR: "0" },
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

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import type { Cleanup } from "../../packages/server/src/testing/database.ts";
import { clientOf, sandboxSettings } from "../../packages/server/src/testing/main-process.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";

const root = path.join(import.meta.dirname, "../..");

/** Runs `npm start` in its own process group, as a terminal does. */
async function startAsTerminal(cleanup: Cleanup, settings: Readonly<Record<string, string>>) {
  const { PATH = "", TMPDIR, HOME } = process.env;
  const child = spawn(process.execPath, ["tools/run.mjs", "packages/server/src/main.ts"], {
    cwd: root,
    env: { PATH, ...(TMPDIR && { TMPDIR }), ...(HOME && { HOME }), ...settings },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      printed[name] += text;
    });
  }
  const ended = once(child, "close").then(([code]) => code as number | null);
  const group = -(child.pid ?? assert.fail("not started"));
  cleanup.after(async () => {
    if (child.exitCode === null) process.kill(group, "SIGKILL");
    await ended;
  });
  while (!/^ready /m.test(printed.stdout)) {
    await Promise.race([once(child.stdout, "data"), ended]);
    assert.equal(child.exitCode, null, printed.stderr);
  }
  /** The environment of the service, by the process that run.mjs has started. */
  const environment = async () => {
    const pid = (await readFile(`/proc/${child.pid}/task/${child.pid}/children`, "utf8")).trim();
    return (await readFile(`/proc/${pid}/environ`, "utf8")).split("\0");
  };
  return { printed, ended, environment, signalGroup: (signal: NodeJS.Signals) => process.kill(group, signal) };
}

/** Longer than a signal needs to arrive, shorter than the stop of the database. */
const passedOnMs = 10;

const cleanup = inReverse({ after });
/** Both services have it, one after the other: the second start makes no database. */
const folder = path.join(await temporaryFolder(cleanup), "data");

for (const { signal, threshold } of [{ signal: "SIGINT" }, { signal: "SIGTERM", threshold: 262_144 }] as const) {
  test(`${signal} to the whole process group: the service, started with its variables, ends with code 0 and logs no warning and no error`, async () => {
    // What the operator has set stays (record 0643).
    const own = threshold === undefined ? {} : { MALLOC_MMAP_THRESHOLD_: String(threshold) };
    const service = await startAsTerminal(cleanup, { ...sandboxSettings(folder), ...own });
    if (process.platform === "linux")
      assert.ok((await service.environment()).includes(`MALLOC_MMAP_THRESHOLD_=${threshold ?? 131_072}`));
    const client = await clientOf(folder);
    // Enough parallel requests to open every database connection.
    const ask = (at: number) =>
      client.send("POST", "/v1/auth/password-reset/request", { json: { email: `nobody${at}@ornek.example` } });
    const answers = await Promise.all(Array.from({ length: 40 }, (_, at) => ask(at)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([202]));
    // Before that the first start warns about the master key.
    const started = service.printed.stderr.length;
    service.signalGroup(signal);
    // npm passes the signal on too. It is sent twice, because a pending signal absorbs the next one.
    for (let more = 0; more < 2; more++) {
      await delay(passedOnMs);
      service.signalGroup(signal);
    }
    assert.equal(await service.ended, 0, service.printed.stderr);
    const loud = service.printed.stderr
      .slice(started)
      .split("\n")
      .filter((line) => !/^$|"level":"info"/.test(line));
    assert.deepEqual(loud, []);
    assert.ok(!(await readdir(folder)).includes("postgres.socket"), "the database was stopped and its socket removed");
  });
}

import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { systemClock } from "../clock.ts";
import { createLog } from "../log.ts";
import { openServerLog } from "./server-log.ts";

const mebibyte = 1024 * 1024;

test("the log keeps what was said last, in two files of bounded size", async (t) => {
  const folder = await temporaryFolder(t);
  const file = path.join(folder, "postgres.log");
  const log = openServerLog(file, createLog({ level: "silent", clock: systemClock, write: () => undefined }));
  for (let line = 0; line < 12; line += 1) log.write(Buffer.from(`${String(line).padEnd(mebibyte - 1)}\n`));
  log.write(Buffer.from("the end\n"));
  log.close();
  assert.deepEqual((await readdir(folder)).sort(), ["postgres.log", "postgres.log.1"]);
  assert.ok((await stat(file)).size <= 5 * mebibyte && (await stat(`${file}.1`)).size <= 5 * mebibyte);
  assert.match(await readFile(file, "utf8"), /^10 +\n11 +\nthe end\n$/);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.match(log.tail(), /the end$/);
  assert.ok(log.tail().length <= 4_000);
});

test("a log that is opened again goes on where it ended", async (t) => {
  const file = path.join(await temporaryFolder(t), "postgres.log");
  for (const word of ["first", "second"]) {
    const log = openServerLog(file, createLog({ level: "silent", clock: systemClock, write: () => undefined }));
    log.write(Buffer.from(`${word}\n`));
    assert.equal(log.tail(), word);
    log.close();
  }
  assert.equal(await readFile(file, "utf8"), "first\nsecond\n");
});

test("the service's log tells a failure by its SQLSTATE only, and stays silent on ordinary ends", async (t) => {
  const written: string[] = [];
  const serviceLog = createLog({ level: "info", clock: systemClock, write: (line) => written.push(line) });
  const log = openServerLog(path.join(await temporaryFolder(t), "postgres.log"), serviceLog);
  const prefix = "2026-01-01 00:00:00.000 UTC [4711]";
  // Output comes in pieces that end anywhere.
  log.write(Buffer.from(`${prefix} 53300 FATAL:  sorry, too many `));
  log.write(
    Buffer.from(`clients\n${prefix} 57P01 FATAL:  terminating connection\n${prefix} 00000 LOG:  all is well\n`),
  );
  log.close();
  const lines = written.map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    lines.map(({ event, error_system_code }) => ({ event, error_system_code })),
    [{ event: "postgres_failure", error_system_code: "53300" }],
  );
});

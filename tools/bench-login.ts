/**
 * `npm run bench:login`: how long a refused sign-in takes for an address that exists and for one that does not,
 * interleaved, so that other work on the machine affects both alike. The medians must be within 3 %.
 *
 *   npm run bench:login -- 400      fewer sign-ins than the 2000 of the default
 */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import https from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import { readConfig } from "../packages/server/src/config.ts";
import { start } from "../packages/server/src/start.ts";
import { noSignInLimits, readFirstRun } from "../packages/server/src/testing/people.ts";
import { startTestServer } from "./test-server.ts";

/** Largest difference that is accepted. */
const allowedDifference = 0.03;
const warmUp = 40;

const count = Number(process.argv[2] ?? 2000);
const folder = await mkdtemp(path.join(tmpdir(), "emanet-bench-"));
const { server, stop } = await startTestServer();
try {
  await measure();
} finally {
  await stop();
  await rm(folder, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  const settings = { EMANET_PROFILE: "sandbox", EMANET_LISTEN: "127.0.0.1:0", EMANET_DATA_DIR: folder };
  const quiet = { EMANET_LOG_LEVEL: "silent", EMANET_LIMIT_ANONYMOUS: "1000000/60", ...noSignInLimits };
  const database = { ...server.admin, user: server.owner, database: server.template };
  const running = await start({ config: readConfig({ ...settings, ...quiet }), role: "all", database });
  const { demo } = await readFirstRun(folder);
  const ca = await readFile(running.caFile ?? "", "utf8");
  const agent = new https.Agent({ ca, keepAlive: true, maxSockets: 1 });
  const emails = { known: demo.email, unknown: "nobody@unknown.example" } as const;
  const times: Record<keyof typeof emails, number[]> = { known: [], unknown: [] };
  for (let at = 0; at < count + warmUp; at++) {
    // The order in a pair alternates too: the second has warmer caches.
    const kind = (at + (at >> 1)) % 2 === 0 ? "known" : "unknown";
    const took = await refused(`${running.url}/v1/auth/login`, agent, emails[kind]);
    if (at >= warmUp) times[kind].push(took);
  }
  agent.destroy();
  await running.stop();
  report(times);
}

/** Milliseconds of one refused sign-in. */
function refused(url: string, agent: https.Agent, email: string): Promise<number> {
  const body = JSON.stringify({ email, password: "not the password at all", totp_code: "000000" });
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const request = https.request(url, { method: "POST", agent, headers }, (response) => {
      assert.equal(response.statusCode, 401);
      response.resume().on("end", () => resolve(performance.now() - began));
    });
    request.on("error", reject);
    request.end(body);
  });
}

function report(times: Readonly<Record<string, readonly number[]>>): void {
  const medians = Object.entries(times).map(([kind, all]) => ({ kind, median: median(all), count: all.length }));
  for (const one of medians) console.log(`${one.kind.padEnd(8)} ${one.median.toFixed(2)} ms median of ${one.count}`);
  const [a = 0, b = 0] = medians.map((one) => one.median);
  const difference = Math.abs(a - b) / Math.min(a, b);
  console.log(`difference ${(difference * 100).toFixed(2)} % (at most ${allowedDifference * 100} %)`);
  if (difference > allowedDifference) process.exitCode = 1;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

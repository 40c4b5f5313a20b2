// long: 15 s

/**
 * Kills the agent, the service and its database while the agent backs up a folder, at moments that a seed chooses. The next run finishes, at
 * most 16 MiB are sent again, and the restore is byte for byte. What is sent is counted on the line between agent and service.
 *
 * `npm run test:heavy` kills each of them 50 times. EMANET_KILL_SEED chooses other moments, EMANET_KILL_ROUNDS another number.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { maxUnregisteredBytes } from "../../packages/agent/src/backup/service-destination.ts";
import { SeededRandom } from "../../packages/engine/src/testing/random-tree.ts";
import { assertSameTree, settleTimes } from "../../packages/engine/src/testing/test-environment.ts";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import type { Cleanup } from "../../packages/server/src/testing/database.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { seededRandom } from "../../packages/server/src/testing/seeded-random.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { type CountedLine, countedLine } from "./testing/counted-line.ts";
import { World } from "./testing/world.ts";

const { EMANET_KILL_SEED = "28", EMANET_KILL_ROUNDS = "50" } = process.env;
const victims = ["agent", "service", "postmaster"] as const;
const rounds = scaled(1, Number(EMANET_KILL_ROUNDS));
/** Of a file. In the long form about eight packs change each time. */
const fileBytes = scaled(150_000, 5_000_000);
const fileCount = 12;
/** What is sent for so many bytes: frames, packs and TLS add less than a hundredth. */
const wireBytes = (bytes: number) => bytes * 1.01;
/** Of one run: its offers, its tree, tokens and handshakes. */
const otherBytes = 1_000_000;

const random = seededRandom(Number(EMANET_KILL_SEED));
const content = new SeededRandom(Number(EMANET_KILL_SEED));
const main = path.resolve(import.meta.dirname, "../../packages/agent/src/main.ts");

class Machine {
  readonly world: World;
  readonly folder: string;
  readonly from: string;
  readonly line: CountedLine;
  readonly #env: NodeJS.ProcessEnv;
  /** How long the last backup took that nothing interrupted. */
  usualMs = 0;

  private constructor(world: World, folder: string, line: CountedLine, env: NodeJS.ProcessEnv) {
    this.world = world;
    this.line = line;
    this.folder = folder;
    this.from = path.join(folder, "from");
    this.#env = env;
    mkdirSync(this.from);
  }

  static async open(cleanup: Cleanup, world: World): Promise<Machine> {
    const { base_url, demo } = await world.firstRun();
    const folder = await temporaryFolder(cleanup);
    const line = await countedLine(cleanup, Number(new URL(base_url).port));
    return new Machine(world, folder, line, {
      ...{ PATH: process.env.PATH, HOME: folder, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
      ...{ EMANET_URL: `https://127.0.0.1:${line.port}`, EMANET_CA_FILE: await world.caFile },
      ...{ EMANET_CLIENT_ID: demo.client_id, EMANET_CLIENT_SECRET: demo.client_secret },
    });
  }

  /** New content for about two thirds of the files; returns how many bytes. */
  change(): number {
    let written = 0;
    for (let i = 0; i < fileCount; i++) {
      if (this.usualMs > 0 && random.integer(3) === 0) continue;
      writeFileSync(path.join(this.from, `${i}.bin`), content.bytes(fileBytes));
      written += fileBytes;
    }
    settleTimes(this.from);
    return written;
  }

  start(...args: readonly string[]) {
    const child = spawn(process.execPath, [main, ...args, "--json"], {
      env: this.#env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    const ended = once(child, "close").then(([code]) => ({ code: code as number | null, stdout, stderr }));
    return { child, ended };
  }

  backUp() {
    // Times of files do not show that they changed: every file is read.
    return this.start("backup", this.from, "--source", "öldürülen", "--force");
  }

  async assertRestores(): Promise<void> {
    const target = path.join(this.folder, "to");
    rmSync(target, { recursive: true, force: true });
    const { code, stderr } = await this.start("restore", "latest", "--target", target).ended;
    assert.equal(code, 0, stderr);
    assertSameTree(this.from, target);
  }

  /** A backup that nothing interrupts. */
  async finish(why: string): Promise<void> {
    const began = performance.now();
    const { code, stdout, stderr } = await this.backUp().ended;
    assert.equal(code, 0, `${why}: ${stdout} ${stderr}`);
    this.usualMs = performance.now() - began;
  }
}

async function strike(victim: (typeof victims)[number], world: World, pid: number): Promise<void> {
  const target = victim === "agent" ? pid : victim === "service" ? world.main.pid : await world.postmaster();
  if (target === null) return;
  try {
    process.kill(target, "SIGKILL");
  } catch (error) {
    // It had ended before.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

test(`${rounds} kills each of agent, service and database: the next run finishes, sends at most 16 MiB again, and the restore is byte for byte`, async (t) => {
  const cleanup = inReverse(t);
  const world = await World.open(cleanup, await temporaryFolder(cleanup));
  const machine = await Machine.open(cleanup, world);
  machine.change();
  await machine.finish("first backup");
  let [interrupted, mostAgain] = [0, 0];
  for (let round = 0; round < rounds; round++)
    for (const victim of victims) {
      const written = machine.change();
      machine.line.takeSent();
      const { child, ended } = machine.backUp();
      await delay(random.integer(Math.ceil(machine.usualMs)));
      await strike(victim, world, child.pid ?? 0);
      await world.ensureUp();
      const { code } = await ended;
      await world.ensureUp();
      if (code !== 0) {
        interrupted++;
        await machine.finish(`${victim} ${round}`);
      }
      const again = machine.line.takeSent() - wireBytes(written);
      mostAgain = Math.max(mostAgain, again);
      const bound = wireBytes(maxUnregisteredBytes) + (code === 0 ? 1 : 2) * otherBytes;
      assert.ok(again <= bound, `${victim} ${round}: ${again} bytes were sent again, at most ${bound} were expected`);
      await machine.assertRestores();
    }
  t.diagnostic(
    `${interrupted} of ${rounds * victims.length} runs were interrupted; at most ${mostAgain} bytes were sent again`,
  );
  await world.stop();
});

// long: 15 s

/**
 * Kills the agent, the service and its database while the agent backs up a folder, at moments that a seed chooses. The next run finishes, what
 * was registered is not sent again, and the restore is byte for byte.
 *
 * `npm run test:heavy` kills each of them 50 times. EMANET_KILL_SEED chooses other moments, EMANET_KILL_ROUNDS another number.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { SeededRandom } from "../../packages/engine/src/testing/random-tree.ts";
import { assertSameTree, settleTimes } from "../../packages/engine/src/testing/test-environment.ts";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { seededRandom } from "../../packages/server/src/testing/seeded-random.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { World } from "./testing/world.ts";

const { EMANET_KILL_SEED = "28", EMANET_KILL_ROUNDS = "50" } = process.env;
const victims = ["agent", "service", "postmaster"] as const;
const rounds = scaled(1, Number(EMANET_KILL_ROUNDS));
/** Several packs in the long form. */
const fileBytes = scaled(150_000, 2_500_000);
const fileCount = 12;
/** How long a backup takes, about. */
const longestMs = scaled(1200, 4000);
const packBytes = 16 * 1024 * 1024;

const random = seededRandom(Number(EMANET_KILL_SEED));
const content = new SeededRandom(Number(EMANET_KILL_SEED));
const main = path.resolve(import.meta.dirname, "../../packages/agent/src/main.ts");

class Machine {
  readonly world: World;
  readonly folder: string;
  readonly from: string;
  readonly #env: NodeJS.ProcessEnv;
  /** Bytes of everything that was ever in the folder. */
  written = 0;

  private constructor(world: World, folder: string, env: NodeJS.ProcessEnv) {
    this.world = world;
    this.folder = folder;
    this.from = path.join(folder, "from");
    this.#env = env;
    mkdirSync(this.from);
  }

  static async open(world: World, folder: string): Promise<Machine> {
    const { base_url, demo } = await world.firstRun();
    return new Machine(world, folder, {
      ...{ PATH: process.env.PATH, HOME: folder, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
      ...{ EMANET_URL: base_url, EMANET_CA_FILE: await world.caFile },
      ...{ EMANET_CLIENT_ID: demo.client_id, EMANET_CLIENT_SECRET: demo.client_secret },
    });
  }

  /** New content for some files. */
  change(): void {
    for (let i = 0; i < fileCount; i++) {
      if (this.written > 0 && random.integer(3) > 0) continue;
      writeFileSync(path.join(this.from, `${i}.bin`), content.bytes(fileBytes));
      this.written += fileBytes;
    }
    settleTimes(this.from);
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

  async storedBytes(): Promise<number> {
    const files = await this.world.objectFiles();
    return files.reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0);
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

test(`${rounds} kills each of agent, service and database: the next run finishes, and the restore is byte for byte`, async (t) => {
  const cleanup = inReverse(t);
  const world = await World.open(cleanup, await temporaryFolder(cleanup));
  const machine = await Machine.open(world, await temporaryFolder(cleanup));
  machine.change();
  const first = await machine.backUp().ended;
  assert.equal(first.code, 0, first.stderr);
  let interrupted = 0;
  for (let round = 0; round < rounds; round++)
    for (const victim of victims) {
      machine.change();
      const { child, ended } = machine.backUp();
      await delay(random.integer(longestMs));
      await strike(victim, world, child.pid ?? 0);
      await world.ensureUp();
      const { code } = await ended;
      await world.ensureUp();
      if (code !== 0) {
        interrupted++;
        const again = await machine.backUp().ended;
        assert.equal(again.code, 0, `${victim} ${round}: ${again.stdout} ${again.stderr}`);
      }
      if (round % 10 === 0) await machine.assertRestores();
    }
  await machine.assertRestores();
  const stored = await machine.storedBytes();
  const bound = machine.written * 1.02 + (interrupted + 1) * packBytes + 2_000_000;
  t.diagnostic(`${interrupted} runs were interrupted; ${machine.written} bytes were written, ${stored} are stored`);
  assert.ok(stored <= bound, `${stored} bytes are stored, at most ${bound} were expected`);
  await world.stop();
});

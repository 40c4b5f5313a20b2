/**
 * Many agents in one process: each runs what `emanet backup` runs (`runCommand`), with credentials, a state folder, a file cache and connections of its own, and signs in anew for every backup.
 * What a process per agent would add is the start of Node, and 200 times its memory.
 *
 * An agent cuts and compresses in the thread of the process (`--threads 0`): the trees are small, and threads for each of them would be started and ended all the time. The
 * clock of the process is a minute ahead, because nights follow each other within minutes here.
 */

import "../engine/later-clock.ts";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdirSync, statfsSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "../../packages/agent/src/api/connection.ts";
import { ensureAgent } from "../../packages/agent/src/api/registration.ts";
import { readEnvironment } from "../../packages/agent/src/config.ts";
import type { AgentContext } from "../../packages/agent/src/context.ts";
import { textsOf } from "../../packages/agent/src/output/texts.ts";
import { runCommand } from "../../packages/agent/src/run.ts";
import { version } from "../../packages/agent/src/version.ts";
import { changeSmallOffice, makeSmallOffice } from "../engine/small-office.ts";
import { CallTimes } from "./call-times.ts";
import type { Account, Answer, ClientSettings, NotedBackup, Order, Worked } from "./clients.ts";
import { receive } from "./receive.ts";

/** As `emanet` sets it. */
Buffer.poolSize = 4096;

/** Between two messages about backups that have ended. */
const noteMs = 500;

/** A registration makes keys of vaults on the disk of the service. In life machines are not all registered in the same second. */
const registeredAtOnce = 4;

const calls = new CallTimes();
/** How many nights each account's tree has seen. */
const nights = new Map<number, number>();

receive<ClientSettings, Order>((settings) => {
  const { accounts, pauseSeconds } = settings;
  const waiting = [...accounts];
  return async (order) => {
    if (order.order === "prepare") for (const account of accounts) makeSmallOffice(...treeOf(settings, account));
    const count = new Count();
    if (order.order === "register")
      await atOnce(registeredAtOnce, 0, [...accounts], (account) => register(settings, account));
    if (order.order === "first" || order.order === "unchanged")
      await atOnce(settings.agents, pauseSeconds, [...accounts], async (account) => {
        await backUp(settings, account, count);
        if (order.order === "unchanged") changeTree(settings, account);
      });
    if (order.order === "nights") {
      const end = performance.now() + order.seconds * 1000;
      const work = async (account: Account) => {
        await backUp(settings, account, count);
        changeTree(settings, account);
        waiting.push(account);
      };
      await atOnce(settings.agents, pauseSeconds, waiting, work, () => performance.now() < end);
    }
    return count.worked();
  };
});

/** Takes account after account from the list, so many at once. With a pause agents do not begin in the same second. */
async function atOnce(
  agents: number,
  pauseSeconds: number,
  list: Account[],
  work: (account: Account) => Promise<void>,
  mayBegin: () => boolean = () => true,
): Promise<void> {
  const agent = async (number: number) => {
    await delay((pauseSeconds * 1000 * number) / agents);
    while (mayBegin()) {
      const account = list.shift();
      if (account === undefined) return;
      await work(account);
      if (pauseSeconds > 0) await delay(pauseSeconds * 1000);
    }
  };
  await Promise.all(Array.from({ length: agents }, (_, number) => agent(number)));
}

async function register(settings: ClientSettings, account: Account): Promise<void> {
  const context = contextOf(settings, account);
  const connection = connect(context, "writing");
  try {
    await ensureAgent(context, connection, { vaults: [account.vaultId] });
  } finally {
    connection.close();
  }
}

async function backUp(settings: ClientSettings, account: Account, count: Count): Promise<void> {
  const [tree] = treeOf(settings, account);
  const printed = { out: "", err: "" };
  const context: AgentContext = {
    ...contextOf(settings, account),
    out: (text) => {
      printed.out += text;
    },
    err: (text) => {
      printed.err += text;
    },
  };
  const words = ["backup", tree, "--source", "ofis", "--vault", account.vaultId, "--trigger", "schedule"];
  const began = performance.now();
  const code = await runCommand([...words, "--threads", "0", "--json", "--quiet"], context);
  const seconds = (performance.now() - began) / 1000;
  if (code === 0) count.add(account, JSON.parse(printed.out) as Summary, seconds);
  else count.fail(`exit code ${code}: ${printed.err.split("\n")[0]}`);
}

/** The office works for a day. */
function changeTree(settings: ClientSettings, account: Account): void {
  const night = (nights.get(account.number) ?? 0) + 1;
  nights.set(account.number, night);
  changeSmallOffice(...treeOf(settings, account), night);
}

/** The last line of a backup with `--json`. */
interface Summary {
  readonly snapshot_id: string;
  readonly file_count: number;
  readonly size_bytes: number;
  readonly unchanged_files: number;
  readonly new_bytes: number;
}

class Count {
  readonly #seconds: number[] = [];
  readonly #errors: Record<string, number> = {};
  readonly #sums = { files: 0, bytes: 0, newFiles: 0, newBytes: 0 };
  #ended: NotedBackup[] = [];
  readonly #notes = setInterval(() => this.#note(), noteMs);

  add({ number: account }: Account, summary: Summary, seconds: number): void {
    this.#seconds.push(seconds);
    this.#sums.files += summary.file_count;
    this.#sums.bytes += summary.size_bytes;
    this.#sums.newFiles += summary.file_count - summary.unchanged_files;
    this.#sums.newBytes += summary.new_bytes;
    this.#ended.push({ account, snapshotId: summary.snapshot_id });
  }

  fail(message: string): void {
    this.#errors[message] = (this.#errors[message] ?? 0) + 1;
  }

  worked(): Worked {
    clearInterval(this.#notes);
    this.#note();
    const [seconds, errors] = [this.#seconds, this.#errors];
    const reads = { lateMs: [], leftOut: 0 };
    return { backups: seconds.length, ...this.#sums, seconds, calls: calls.take(), errors, ...reads };
  }

  /** Tells of the backups that have ended since. */
  #note(): void {
    if (this.#ended.length > 0) process.send?.({ answer: "backups", backups: this.#ended } satisfies Answer);
    this.#ended = [];
  }
}

function treeOf({ folder, office, seed }: ClientSettings, { number }: Account) {
  const tree = path.join(folder, String(number), "ofis");
  mkdirSync(tree, { recursive: true });
  return [tree, { ...office, seed: seed * 1_000_000 + number }] as const;
}

/** What `emanet` has in a process of its own. */
function contextOf({ folder, url, caFile }: ClientSettings, { number, clientId, clientSecret }: Account): AgentContext {
  const own = path.join(folder, String(number));
  const environment = readEnvironment(
    {
      ...{ EMANET_URL: url, EMANET_CA_FILE: caFile, EMANET_CLIENT_ID: clientId, EMANET_CLIENT_SECRET: clientSecret },
      ...{ EMANET_STATE_DIR: path.join(own, "state"), EMANET_CACHE_DIR: path.join(own, "cache") },
    },
    process.platform,
    homedir(),
  );
  return {
    ...{ environment, texts: textsOf(environment.language), version },
    now: () => Date.now(),
    random: (length) => randomBytes(length),
    newKey: () => randomUUID(),
    wait: async (ms, signal) => {
      await delay(ms, undefined, signal === undefined ? {} : { signal });
    },
    ...{ out: () => {}, err: () => {}, outBytes: async () => {}, stdin: Readable.from([]) },
    freeBytes: (place) => {
      const { bavail, bsize } = statfsSync(place);
      return bavail * bsize;
    },
    ...{ program: [], execute: () => ({ code: 1, output: "" }), terminalColumns: () => null },
    signal: new AbortController().signal,
  };
}

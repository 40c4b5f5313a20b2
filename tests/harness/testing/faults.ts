/**
 * What goes wrong. A fault strikes while clients work, lasts for some time, and ends. Then everything that was promised must be there
 * again. `strike` and `end` return when it has happened.
 */

import assert from "node:assert/strict";
import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import type { FaultyGateway } from "../../../packages/storage/src/testing/faulty-gateway.ts";
import type { Random } from "../../crash/testing/uploads.ts";
import type { HarnessService, RoleName } from "./harness-service.ts";

export interface Fault {
  strike(): Promise<void>;
  end(): Promise<void>;
}

/** How many of a hundred faults are of each kind. Those that cost a start of the service are rare in the short form. */
export const shares = {
  kill_service: 8,
  kill_database: 4,
  kill_connections: 8,
  stop_service: 7,
  stop_database: 7,
  lose_answers: 10,
  lose_requests: 6,
  delay: 5,
  full_disk: 5,
  failing_store: 0,
  clock_minutes: 5,
  clock_hours: 6,
  clock_days: 8,
  clock_back: 3,
  damage: 6,
  hide: 6,
  hide_all: 2,
  old_dump: 2,
  drop_database: 2,
} as const;
export type FaultKind = keyof typeof shares;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** Of bytes on their way: a request or an answer of some kilobytes is cut in its middle by one of so many pieces. */
const cutOneOf = 3;
const delayMs = 120;
/** One of so many requests to a bucket fails. */
const storeOneOf = 8;

export class Faults {
  readonly #service: HarnessService;
  readonly #random: Random;
  /** Drawn as often as bytes come, which is not the same in every run. */
  readonly #perPiece: Random;
  readonly #gateway: FaultyGateway | null;
  #dumps = 0;
  /** The newest copy of the database's files. */
  #dump: string | null = null;
  /** Called after the database was replaced. */
  readonly #replaced: (how: "recover" | "rebuild") => Promise<void>;

  constructor(
    service: HarnessService,
    [random, perPiece]: readonly [Random, Random],
    { gateway, replaced }: { gateway: FaultyGateway | null; replaced: (how: "recover" | "rebuild") => Promise<void> },
  ) {
    this.#service = service;
    this.#random = random;
    this.#perPiece = perPiece;
    this.#gateway = gateway;
    this.#replaced = replaced;
  }

  /** Draws the details at once. */
  make(kind: FaultKind): Fault {
    const { integer } = this.#random;
    const roles = this.#service.roles;
    if (kind === "kill_service") return this.#killService(roles[integer(roles.length)] ?? "all");
    if (kind === "stop_service") return stopped(() => this.#service.process(roles[integer(roles.length)] ?? "all").pid);
    if (kind === "stop_database") return this.#stopConnections();
    if (kind === "kill_connections") return this.#killConnections(1 + integer(3));
    if (kind === "kill_database") return this.#killDatabase(integer(2) === 0);
    if (kind === "lose_answers" || kind === "lose_requests")
      return this.#cut(kind === "lose_answers" ? "response" : "request");
    if (kind === "delay") return this.#delayed();
    if (kind === "full_disk") return this.#fullDisk();
    if (kind === "failing_store") return this.#failingStore();
    if (kind === "clock_minutes") return this.#clock((1 + integer(90)) * minuteMs);
    if (kind === "clock_hours") return this.#clock((1 + integer(71)) * hourMs);
    if (kind === "clock_days") return this.#clock((1 + integer(20)) * dayMs);
    if (kind === "clock_back") return this.#clockBack((1 + integer(180)) * minuteMs);
    if (kind === "damage") return this.#damage(integer(1 << 20), integer(1 << 20));
    if (kind === "hide") return this.#hide(integer(1 << 20));
    if (kind === "hide_all") return this.#hideAll();
    return kind === "old_dump" ? this.#oldDump() : this.#dropDatabase(integer(3) === 0);
  }

  #killService(role: RoleName): Fault {
    return { strike: () => this.#service.kill(role), end: () => this.#service.ensureUp() };
  }

  /** Sometimes a copy of its files is made meanwhile, for a later `old_dump`. */
  #killDatabase(withCopy: boolean): Fault {
    return {
      strike: () => (withCopy ? this.#takeDump() : this.#service.restartPostgres()),
      end: () => this.#service.ensureUp(),
    };
  }

  async #takeDump(): Promise<void> {
    this.#dump = `${this.#dumps++}`;
    await this.#service.dump(this.#dump);
  }

  /** Connections stand still in the middle of what they do. */
  #stopConnections(): Fault {
    let pids: readonly number[] = [];
    return {
      strike: async () => {
        pids = await this.#service.backends();
        for (const pid of pids) signal(pid, "SIGSTOP");
      },
      end: async () => {
        for (const pid of pids) signal(pid, "SIGCONT");
      },
    };
  }

  #killConnections(count: number): Fault {
    return {
      strike: async () => {
        // The server ends all connections when one of them is killed, as after a crash; terminated ones end alone.
        const text = `select pg_terminate_backend(pid) from
          (select pid from pg_stat_activity where usename like 'emanet%' order by random() limit $1) as chosen`;
        await this.#service.rows(text, [count]);
      },
      end: () => this.#service.ensureUp(),
    };
  }

  #cut(way: "request" | "response"): Fault {
    return {
      strike: async () => {
        this.#service.rules[way] = (bytes) => (this.#perPiece.integer(cutOneOf) === 0 ? null : bytes);
      },
      end: async () => {
        this.#service.rules[way] = undefined;
      },
    };
  }

  #delayed(): Fault {
    return {
      strike: async () => {
        this.#service.rules.delayMs = delayMs;
      },
      end: async () => {
        this.#service.rules.delayMs = 0;
      },
    };
  }

  #fullDisk(): Fault {
    const { disk } = this.#service;
    return {
      strike: async () => (disk.isOwn ? disk.fill() : undefined),
      end: async () => {
        if (disk.isOwn) disk.empty();
        await this.#service.ensureUp();
      },
    };
  }

  /** A bucket that refuses requests and loses answers. */
  #failingStore(): Fault {
    const gateway = this.#gateway ?? assert.fail("not a bucket");
    return {
      strike: async () => {
        gateway.oneOf = storeOneOf;
      },
      end: async () => {
        gateway.oneOf = 0;
      },
    };
  }

  #clock(ms: number): Fault {
    return { strike: () => this.#service.moveClock(ms), end: async () => undefined };
  }

  /** A clock that was wrong for some time. */
  #clockBack(ms: number): Fault {
    return { strike: () => this.#service.moveClock(-ms), end: () => this.#service.moveClock(ms) };
  }

  async #pick(number: number, folders: RegExp): Promise<string | undefined> {
    const files = (await this.#service.objectFiles()).filter((name) => folders.test(name)).sort();
    return files[number % Math.max(1, files.length)];
  }

  /** A bit flips on the disk, and the disk is repaired later. */
  #damage(which: number, where: number): Fault {
    let file: string | undefined;
    let [whole, bad] = [Buffer.alloc(0), Buffer.alloc(0)];
    return {
      strike: async () => {
        file = await this.#pick(which, /\/(packs|snapshots|chain)\//);
        if (file === undefined) return;
        whole = await readFile(file).catch(() => Buffer.alloc(0));
        if (whole.length === 0) return;
        bad = Buffer.from(whole);
        bad[where % bad.length] = (bad[where % bad.length] ?? 0) ^ 1;
        await writeFile(file, bad, { flag: "r+" }).catch(() => undefined);
      },
      end: async () => {
        if (file === undefined || whole.length === 0) return;
        // What was rewritten or deleted meanwhile stays so.
        const found = await readFile(file).catch(() => null);
        if (found?.equals(bad)) await writeFile(file, whole, { flag: "r+" });
      },
    };
  }

  /** An object is not there for some time. */
  #hide(which: number): Fault {
    let file: string | undefined;
    const aside = path.join(this.#service.objects, "..", `hidden-${which}`);
    return {
      strike: async () => {
        file = await this.#pick(which, /\/(packs|snapshots|chain)\//);
        if (file !== undefined) await rename(file, aside).catch(() => undefined);
      },
      end: async () => {
        if (file === undefined) return;
        await link(aside, file).catch((error: NodeJS.ErrnoException) => {
          assert.equal(error.code, "ENOENT", `${file} was written again while it was hidden`);
        });
        await rm(aside, { force: true });
      },
    };
  }

  /** The disk of the store is away. */
  #hideAll(): Fault {
    const { objects } = this.#service;
    return {
      strike: () => rename(objects, `${objects}.away`),
      end: async () => {
        await rm(objects, { recursive: true, force: true });
        await rename(`${objects}.away`, objects);
        await this.#service.ensureUp();
      },
    };
  }

  /** The database is put back to an older copy of it. Without one, this makes the copy. */
  #oldDump(): Fault {
    return {
      strike: async () => {
        const dump = this.#dump;
        this.#dump = null;
        if (dump === null) return this.#takeDump();
        await this.#service.killAll();
        await this.#service.restoreDump(dump);
        // Where it is as new as the store, the service starts without.
        await this.#recover("recover");
        await this.#replaced("recover");
      },
      end: () => this.#service.ensureUp(),
    };
  }

  /** The database is lost. Sometimes the rebuild is killed too, and begun again. */
  #dropDatabase(isKilled: boolean): Fault {
    return {
      strike: async () => {
        await this.#service.killAll();
        await this.#service.dropDatabase();
        if (isKilled) await this.#service.killedCommand(this.#random.integer(2_000), "rebuild-index", "--json");
        await this.#recover("rebuild-index");
        this.#dump = null;
        await this.#replaced("rebuild");
      },
      end: () => this.#service.ensureUp(),
    };
  }

  async #recover(command: "recover" | "rebuild-index"): Promise<void> {
    const { code, text } = await this.#service.command(command, "--json");
    assert.equal(code, 0, `${command}: ${text}`);
    await this.#service.restoreClock();
    await this.#service.ensureUp();
  }
}

function stopped(pidOf: () => number): Fault {
  let pid = 0;
  return {
    strike: async () => {
      pid = pidOf();
      signal(pid, "SIGSTOP");
    },
    end: async () => signal(pid, "SIGCONT"),
  };
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

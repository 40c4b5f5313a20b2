/** The processes of the clients, as the benchmark drives them: what it tells them, and what they answer. */

import { getPriority, setPriority } from "node:os";
import type { SmallOffice } from "../engine/small-office.ts";
import { type Program, startProgram, stopProgram } from "../requests/processes.ts";
import type { Calls } from "./call-times.ts";

/** An account with the credentials of its program. */
export interface Account {
  readonly number: number;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly vaultId: string;
}

export interface ClientSettings {
  readonly url: string;
  readonly caFile: string;
  readonly accounts: readonly Account[];
  readonly office: SmallOffice;
  readonly seed: number;
  /** Of a process with agents: how many run at once, and where their trees, states and caches are. */
  readonly agents: number;
  readonly folder: string;
  /** Between two backups of an agent. */
  readonly pauseSeconds: number;
  /** Of the process that reads: calls a second. */
  readonly readsPerSecond: number;
}

/** What a process with agents does at once. Each is answered by `Worked`. */
export type Order =
  | { readonly order: "prepare" }
  | { readonly order: "register" }
  /** Each account once. After `unchanged` files are changed for the nights. */
  | { readonly order: "first" | "unchanged" }
  /** Account after account, until so much time has passed; what was begun then is ended. */
  | { readonly order: "nights"; readonly seconds: number }
  /** To the process that reads. The second one is answered. */
  | { readonly order: "read" }
  | { readonly order: "stop-reading" }
  /** To the process that reads: these can be read. */
  | { readonly order: "note"; readonly backups: readonly NotedBackup[] };

export interface NotedBackup {
  /** The number of the account. */
  readonly account: number;
  readonly snapshotId: string;
}

export interface Worked {
  readonly backups: number;
  readonly files: number;
  readonly bytes: number;
  /** Files that are new or have changed, and bytes that were sent for them. */
  readonly newFiles: number;
  readonly newBytes: number;
  /** Of each backup. */
  readonly seconds: readonly number[];
  readonly calls: Calls;
  /** Milliseconds by which reads were sent later than due. */
  readonly lateMs: readonly number[];
  /** Reads that were not sent, because too many were not answered. */
  readonly leftOut: number;
  /** Each message, and how often it came. */
  readonly errors: Readonly<Record<string, number>>;
}

export type Answer =
  | { readonly answer: "worked"; readonly worked: Worked }
  | { readonly answer: "backups"; readonly backups: readonly NotedBackup[] };

export class ClientProcess {
  readonly #program: Program;

  private constructor(program: Program) {
    this.#program = program;
  }

  /** `niceness`: how much less than the service it gets of the cores. */
  static async start(file: string, settings: ClientSettings, niceness: number): Promise<ClientProcess> {
    const program = await startProgram(`../agents/${file}`, []);
    if (niceness > 0) setPriority(program.pid, Math.min(getPriority(program.pid) + niceness, lowestPriority));
    program.child.send(settings);
    return new ClientProcess(program);
  }

  get pid(): number {
    return this.#program.pid;
  }

  tell(order: Order): void {
    this.#program.child.send(order);
  }

  /** Gives an order and waits for its end. */
  work(order: Order, onBackups: (backups: readonly NotedBackup[]) => void = () => {}): Promise<Worked> {
    const { child } = this.#program;
    const { promise, resolve, reject } = Promise.withResolvers<Worked>();
    const onMessage = (message: Answer) => {
      if (message.answer === "worked") resolve(message.worked);
      else onBackups(message.backups);
    };
    const onExit = (code: number | null) =>
      reject(new Error(`a process of clients ended with ${code}; EMANET_BENCH_STDERR=1 shows its messages`));
    child.on("message", onMessage).once("exit", onExit);
    this.tell(order);
    return promise.finally(() => child.off("message", onMessage).off("exit", onExit));
  }

  stop(): Promise<void> {
    return stopProgram(this.#program);
  }
}

/** Of Linux. */
const lowestPriority = 19;

/** What several processes did. */
export function joinWorked(all: readonly Worked[]): Worked {
  const sum = (name: "backups" | "files" | "bytes" | "newFiles" | "newBytes" | "leftOut") =>
    all.reduce((total, each) => total + each[name], 0);
  return {
    ...{ backups: sum("backups"), files: sum("files"), bytes: sum("bytes") },
    ...{ newFiles: sum("newFiles"), newBytes: sum("newBytes"), leftOut: sum("leftOut") },
    seconds: all.flatMap((each) => each.seconds),
    lateMs: all.flatMap((each) => each.lateMs),
    calls: joinCalls(all.map((each) => each.calls)),
    errors: joinCounts(all.map((each) => each.errors)),
  };
}

function joinCalls(all: readonly Calls[]): Calls {
  const times: Record<string, number[]> = {};
  for (const each of all)
    for (const [name, some] of Object.entries(each.times)) times[name] = [...(times[name] ?? []), ...some];
  return { times, refused: joinCounts(all.map((each) => each.refused)) };
}

function joinCounts(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const each of all) for (const [name, count] of Object.entries(each)) counts[name] = (counts[name] ?? 0) + count;
  return counts;
}

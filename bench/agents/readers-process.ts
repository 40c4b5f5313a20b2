/**
 * Clients that read while agents back up, in a process of their own, so that they wait for the service and not for agents. Calls are sent at a steady rate, whether or not
 * those before are answered; each is of another account than the one before, among those that have a snapshot.
 */

import { readFileSync } from "node:fs";
import { httpsFetch } from "../../packages/agent/src/api/https-fetch.ts";
import { clientCredentials, createClient, type EmanetClient } from "../../sdks/typescript/src/index.ts";
import { pathInSmallOffice } from "../engine/small-office.ts";
import { SeededRandom } from "../ofis/seeded-random.ts";
import { CallTimes } from "./call-times.ts";
import type { ClientSettings, NotedBackup, Order, Worked } from "./clients.ts";
import { receive } from "./receive.ts";

/** A service that leaves so many unanswered is not measured any more by sending more. */
const maxUnanswered = 200;

/** An answer that does not come is seen, and not hidden by a repetition. */
const once = { retries: { max: 0 } } as const;

const calls = new CallTimes();

receive<ClientSettings, Order>((settings) => {
  const readers = new Readers(settings);
  return async (order) => {
    if (order.order === "note") readers.note(order.backups);
    if (order.order === "read") readers.start();
    return order.order === "stop-reading" ? readers.stop() : null;
  };
});

class Readers {
  readonly #settings: ClientSettings;
  readonly #transports: readonly ReturnType<typeof httpsFetch>[];
  readonly #random: SeededRandom;
  readonly #clients = new Map<number, EmanetClient>();
  /** The newest snapshot of each account that has one. */
  readonly #newest = new Map<number, string>();
  /** The accounts among them. */
  readonly #readable: number[] = [];
  readonly #unanswered = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | null = null;
  #lateMs: number[] = [];
  #errors: Record<string, number> = {};
  #leftOut = 0;

  constructor(settings: ClientSettings) {
    this.#settings = settings;
    this.#random = new SeededRandom(settings.seed, "readers");
    const ca = readFileSync(settings.caFile, "utf8");
    // Each keeps 16 connections at most.
    const count = maxUnanswered / 20;
    this.#transports = Array.from({ length: count }, () => httpsFetch({ ca, userAgent: "bench" }));
  }

  note(backups: readonly NotedBackup[]): void {
    for (const { account, snapshotId } of backups) {
      if (!this.#newest.has(account)) this.#readable.push(account);
      this.#newest.set(account, snapshotId);
    }
  }

  start(): void {
    const began = performance.now();
    const dueMs = (nth: number) => began + (nth * 1000) / this.#settings.readsPerSecond;
    let sent = 0;
    const sendDue = () => {
      const now = performance.now();
      for (; dueMs(sent) <= now; sent++) this.#send(sent, now - dueMs(sent));
      this.#timer = setTimeout(sendDue, dueMs(sent) - now);
    };
    sendDue();
  }

  async stop(): Promise<Worked> {
    clearTimeout(this.#timer ?? undefined);
    await Promise.all(this.#unanswered);
    const worked = {
      ...{ backups: 0, files: 0, bytes: 0, newFiles: 0, newBytes: 0, seconds: [], calls: calls.take() },
      ...{ lateMs: this.#lateMs, leftOut: this.#leftOut, errors: this.#errors },
    };
    [this.#lateMs, this.#errors, this.#leftOut] = [[], {}, 0];
    return worked;
  }

  #send(nth: number, lateMs: number): void {
    if (this.#readable.length === 0) return;
    if (this.#unanswered.size >= maxUnanswered) {
      this.#leftOut++;
      return;
    }
    this.#lateMs.push(lateMs);
    const account = this.#readable[this.#random.below(this.#readable.length)] ?? 0;
    const sent = this.#read(nth, account).catch((error: unknown) => {
      const message = error instanceof Error ? error.message : String(error);
      this.#errors[message] = (this.#errors[message] ?? 0) + 1;
    });
    this.#unanswered.add(sent);
    void sent.then(() => this.#unanswered.delete(sent));
  }

  async #read(nth: number, account: number): Promise<void> {
    const client = this.#client(account);
    const { office, accounts } = this.#settings;
    const [id = "", vaultId = ""] = [this.#newest.get(account), accounts[account]?.vaultId];
    const file = pathInSmallOffice(office, this.#random.below(office.files));
    const [folder = "", name = ""] = file.split("/");
    const reads = [
      () => client.account.get({}, once),
      () => client.snapshots.list({ limit: 25 }, once),
      () => client.snapshots.listTree({ id, path: folder }, once),
      () => client.files.search({ query: name }, once),
      () => client.files.listHistory({ source: "ofis", vault_id: vaultId, path: file }, once),
      async () => (await client.snapshots.readFile({ id, path: file }, once)).bytes(),
    ];
    await reads[nth % reads.length]?.();
  }

  /** It keeps its token, as a program does. */
  #client(account: number): EmanetClient {
    return this.#clients.getOrInsertComputed(account, () => {
      const { url: baseUrl, accounts } = this.#settings;
      const { clientId = "", clientSecret = "" } = accounts[account] ?? {};
      const transport = this.#transports[account % this.#transports.length];
      const credentials = clientCredentials({ clientId, clientSecret });
      return createClient({ baseUrl, credentials, platform: { ...(transport && { fetch: transport.fetch }) } });
    });
  }
}

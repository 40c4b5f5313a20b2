/**
 * Agents that wait for an order (long polling). While some wait, one statement a second finds those with an order, however many
 * they are.
 */

import { errorFields, type Log } from "../kernel/log.ts";
import type { Transactions } from "../kernel/tx.ts";
import { agentsWithOrders } from "../restores/index.ts";

/** Between two looks. A person has clicked; a second is no wait. */
const lookMs = 1_000;

/** Of one agent in one process: it has one process, and a broken connection leaves a wait for some seconds. */
const maxWaitsPerAgent = 4;

interface Wait {
  readonly agentId: string;
  readonly end: () => void;
}

export class OrderWaits {
  readonly #transactions: Transactions;
  readonly #log: Log;
  readonly #waits = new Set<Wait>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(transactions: Transactions, log: Log) {
    this.#transactions = transactions;
    this.#log = log;
  }

  /**
   * Resolves when the agent has an order that can be taken, when the time has passed, when the client has left, or when the service
   * stops. Returns at once when too many requests of the agent wait already.
   */
  async wait(agentId: string, ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isClosed || signal.aborted || this.#countOf(agentId) >= maxWaitsPerAgent) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = () => resolve();
    const wait = { agentId, end };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
    this.#waits.add(wait);
    this.#lookLater();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      this.#waits.delete(wait);
    }
  }

  /** Whether a request of the agent may wait: none may when the service stops, or too many wait. */
  mayWait(agentId: string): boolean {
    return !this.#isClosed && this.#countOf(agentId) < maxWaitsPerAgent;
  }

  /** Ends all waits, and begins no more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const { end } of this.#waits) end();
  }

  #countOf(agentId: string): number {
    let count = 0;
    for (const wait of this.#waits) if (wait.agentId === agentId) count += 1;
    return count;
  }

  #lookLater(): void {
    if (this.#timer !== undefined || this.#isClosed || this.#waits.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#look()
        .catch((error: unknown) => this.#log.warn("orders_unread", errorFields(error)))
        .finally(() => {
          this.#timer = undefined;
          this.#lookLater();
        });
    }, lookMs);
  }

  async #look(): Promise<void> {
    const agents = [...new Set(Array.from(this.#waits, ({ agentId }) => agentId))];
    if (agents.length === 0) return;
    const found = new Set(
      await this.#transactions.read({ signal: neverEnds }, { kind: "system" }, (tx) => agentsWithOrders(tx, agents)),
    );
    for (const { agentId, end } of this.#waits) if (found.has(agentId)) end();
  }
}

const neverEnds = new AbortController().signal;

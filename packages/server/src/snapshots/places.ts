/**
 * Places for work that takes memory: so many at once in all and of each account. Those that wait get a place in the order in
 * which they came, but an account at its own limit lets others pass. So one account with many uploads delays its own.
 */

interface Waiting {
  readonly account: string;
  readonly begin: () => void;
}

export class Places {
  readonly #inAll: number;
  readonly #perAccount: number;
  readonly #waiting: Waiting[] = [];
  readonly #byAccount = new Map<string, number>();
  #taken = 0;

  constructor(limits: { readonly inAll: number; readonly perAccount: number }) {
    this.#inAll = limits.inAll;
    this.#perAccount = limits.perAccount;
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Waits for a place and keeps it during the work. Rejects with the signal's reason if it aborts before. */
  async run<T>(account: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#enter(account, signal);
    try {
      return await work();
    } finally {
      this.#leave(account);
    }
  }

  /** The same for content that is made while it is read. */
  async *stream<T>(account: string, signal: AbortSignal, make: () => AsyncIterable<T>): AsyncGenerator<T> {
    await this.#enter(account, signal);
    try {
      yield* make();
    } finally {
      this.#leave(account);
    }
  }

  #enter(account: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { account, begin: resolve };
    const giveUp = () => {
      const at = this.#waiting.indexOf(waiting);
      if (at < 0) return;
      this.#waiting.splice(at, 1);
      reject(signal.reason);
    };
    this.#waiting.push(waiting);
    this.#admit();
    signal.addEventListener("abort", giveUp, { once: true });
    return promise.finally(() => signal.removeEventListener("abort", giveUp));
  }

  #leave(account: string): void {
    this.#taken--;
    this.#count(account, -1);
    this.#admit();
  }

  /** Gives free places to those that wait. */
  #admit(): void {
    while (this.#taken < this.#inAll) {
      const at = this.#waiting.findIndex((one) => (this.#byAccount.get(one.account) ?? 0) < this.#perAccount);
      const next = this.#waiting[at];
      if (next === undefined) return;
      this.#waiting.splice(at, 1);
      this.#taken++;
      this.#count(next.account, 1);
      next.begin();
    }
  }

  #count(account: string, change: number): void {
    const count = (this.#byAccount.get(account) ?? 0) + change;
    if (count > 0) this.#byAccount.set(account, count);
    else this.#byAccount.delete(account);
  }
}

/**
 * How many attempts go to one host at a time. A host gets at most {@link perHost}, of all accounts together, and slow webhooks at
 * most half of them, so that a receiver that hangs leaves places for the others on its host.
 */

export const perHost = 32;
const slowPerHost = perHost / 2;

interface Host {
  inFlight: number;
  slowInFlight: number;
  readonly waiting: { readonly isSlow: boolean; readonly begin: () => void }[];
}

export class HostSlots {
  readonly #hosts = new Map<string, Host>();
  #inFlight = 0;

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Runs the work when the host has a place for it. */
  async run<T>(name: string, isSlow: boolean, work: () => Promise<T>): Promise<T> {
    const host = this.#hosts.getOrInsertComputed(name, () => ({ inFlight: 0, slowInFlight: 0, waiting: [] }));
    if (!hasPlace(host, isSlow)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      host.waiting.push({ isSlow, begin: resolve });
      await promise;
    } else take(host, isSlow);
    this.#inFlight += 1;
    try {
      return await work();
    } finally {
      this.#inFlight -= 1;
      this.#leave(name, host, isSlow);
    }
  }

  /** The place goes to the first that waits and may have it. */
  #leave(name: string, host: Host, isSlow: boolean): void {
    host.inFlight -= 1;
    if (isSlow) host.slowInFlight -= 1;
    const at = host.waiting.findIndex((next) => hasPlace(host, next.isSlow));
    const [next] = at < 0 ? [] : host.waiting.splice(at, 1);
    if (next !== undefined) {
      take(host, next.isSlow);
      next.begin();
    } else if (host.inFlight === 0) this.#hosts.delete(name);
  }
}

function hasPlace(host: Host, isSlow: boolean): boolean {
  return host.inFlight < perHost && (!isSlow || host.slowInFlight < slowPerHost);
}

function take(host: Host, isSlow: boolean): void {
  host.inFlight += 1;
  if (isSlow) host.slowInFlight += 1;
}

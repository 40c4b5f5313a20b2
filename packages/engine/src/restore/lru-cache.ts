/** A cache of limited total cost. The entry that was not used for the longest time is dropped first. */
export class LruCache<K, V> {
  readonly #limit: number;
  readonly #entries = new Map<K, { readonly value: V; readonly cost: number }>();
  #cost = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    // A Map keeps the order of insertion, so the last entry is the one used last.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** An entry that costs more than the limit is kept until the next one comes. */
  set(key: K, value: V, cost: number): void {
    this.delete(key);
    this.#entries.set(key, { value, cost });
    this.#cost += cost;
    for (const oldest of this.#entries.keys()) {
      if (this.#cost <= this.#limit || oldest === key) break;
      this.delete(oldest);
    }
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#cost -= entry.cost;
  }
}

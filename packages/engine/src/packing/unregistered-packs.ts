/**
 * Bounds what is sent again after an interruption: the packs that were sent and are not registered. A pack that would exceed the bound waits until others
 * are registered. One pack alone never waits, so an upload always goes on.
 *
 * A *torn* segment has blocks in registered packs and in later ones. It is registered with the last of them, and until then all its blocks would be sent again.
 */

export class UnregisteredPacks {
  readonly #maxBytes: number;
  readonly #sizes = new Map<string, number>();
  #tornBytes = 0;
  #waiting = 0;
  #change = Promise.withResolvers<void>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Waits until the pack may be sent. */
  async admit(pack: string, size: number): Promise<void> {
    this.#waiting++;
    while (!this.#hasRoom(size)) await this.#change.promise;
    this.#waiting--;
    this.#sizes.set(pack, size);
  }

  /** Whether a pack waits until others are registered. */
  get isWaitedFor(): boolean {
    return this.#waiting > 0;
  }

  /** These packs are registered now. `tornBytes`: of all segments that are torn. */
  registered(packs: readonly string[], tornBytes: number): void {
    for (const pack of packs) this.#sizes.delete(pack);
    this.#tornBytes = tornBytes;
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }

  #hasRoom(size: number): boolean {
    if (this.#sizes.size === 0) return true;
    let bytes = this.#tornBytes + size;
    for (const each of this.#sizes.values()) bytes += each;
    return bytes <= this.#maxBytes;
  }
}

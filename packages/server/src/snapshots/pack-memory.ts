/**
 * Memory for packs while they arrive. Most are stored a moment later, so writing them to the spool and reading them back is spared. It is
 * bounded for the whole process: when it is taken, by slow clients too, further packs go to the spool.
 */

/** For eight packs of an agent, which sends three at a time; docs/decisions/0648 has what it saves. */
export const packMemoryBytes = 64 * 1024 * 1024;

/** For four packs of an agent: one account with slow clients does not make all others use the disk. */
export const packMemoryBytesPerAccount = packMemoryBytes / 2;

/** Allocated when bytes arrive, so that a client that announces a pack and sends nothing takes none. */
const pieceBytes = 256 * 1024;

export class PackMemory {
  /** Pieces of packs that were stored. */
  readonly #free: Buffer[] = [];
  readonly #limit: number;
  readonly #limitPerAccount: number;
  readonly #takenBy = new Map<string, number>();
  #taken = 0;

  constructor(limit = packMemoryBytes, limitPerAccount = packMemoryBytesPerAccount) {
    this.#limit = limit;
    this.#limitPerAccount = limitPerAccount;
  }

  /** Bytes that packs have taken. */
  get takenBytes(): number {
    return this.#taken;
  }

  /** A place for a pack of this size; null if there is none now. Its taker calls `release`, also after an error. */
  take(accountId: string, size: number): PackInMemory | null {
    const bytes = Math.ceil(size / pieceBytes) * pieceBytes;
    const isLeft = this.#taken + bytes <= this.#limit;
    if (!isLeft || this.#of(accountId) + bytes > this.#limitPerAccount) return null;
    this.#add(accountId, bytes);
    return new PackInMemory(size, this.#free, () => {
      this.#add(accountId, -bytes);
      if (this.#taken === 0) this.#free.length = 0;
    });
  }

  #of(accountId: string): number {
    return this.#takenBy.get(accountId) ?? 0;
  }

  #add(accountId: string, bytes: number): void {
    this.#taken += bytes;
    const left = this.#of(accountId) + bytes;
    if (left > 0) this.#takenBy.set(accountId, left);
    else this.#takenBy.delete(accountId);
  }
}

export class PackInMemory {
  readonly #announced: number;
  readonly #free: Buffer[];
  readonly #onRelease: () => void;
  readonly #pieces: Buffer[] = [];
  #size = 0;
  #isReleased = false;

  constructor(announced: number, free: Buffer[], onRelease: () => void) {
    this.#announced = announced;
    this.#free = free;
    this.#onRelease = onRelease;
  }

  append(chunk: Buffer): void {
    if (this.#size + chunk.length > this.#announced) throw new RangeError("a pack is longer than its place");
    for (let from = 0; from < chunk.length; ) {
      const at = this.#size % pieceBytes;
      if (at === 0) this.#pieces.push(this.#free.pop() ?? Buffer.allocUnsafeSlow(pieceBytes));
      const copied = chunk.copy(this.#pieces.at(-1) as Buffer, at, from);
      from += copied;
      this.#size += copied;
    }
  }

  /** Everything that was appended. Fails for a reader that goes on after the release: to it the pack must not seem to end. */
  async *chunks(): AsyncGenerator<Buffer> {
    for (const [i, piece] of [...this.#pieces].entries()) {
      if (this.#isReleased) throw new Error("the pack was released while it was read");
      yield piece.subarray(0, this.#size - i * pieceBytes);
    }
  }

  /** `stored`: nobody reads the pieces any more. After a failure a write may still be under way, so they are not used again. */
  release(stored: boolean): void {
    this.#isReleased = true;
    if (stored) this.#free.push(...this.#pieces);
    this.#pieces.length = 0;
    this.#onRelease();
  }
}

/** Keys of directories, one after the other in one buffer: 16 bytes each instead of an object each. */

export const keyLength = 16;

export class KeyList {
  #bytes = Buffer.allocUnsafeSlow(64 * keyLength);
  count = 0;

  add(key: Uint8Array): void {
    if ((this.count + 1) * keyLength > this.#bytes.length) {
      const longer = Buffer.allocUnsafeSlow(this.#bytes.length * 2);
      longer.set(this.#bytes);
      this.#bytes = longer;
    }
    this.#bytes.set(key, this.count++ * keyLength);
  }

  clear(): void {
    this.count = 0;
  }

  *[Symbol.iterator](): Generator<Uint8Array> {
    for (let i = 0; i < this.count; i++) yield this.#bytes.subarray(i * keyLength, (i + 1) * keyLength);
  }
}

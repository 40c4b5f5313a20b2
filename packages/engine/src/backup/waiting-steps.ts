/**
 * Counts the steps of the tree writer that wait, and bounds their number. A directory is finished when the target has
 * answered whether its last node is stored. Until then its entry in the parent waits, and so do the entries after it in the
 * parent. Other directories go on.
 */

/** Steps that may wait in all directories together. Each holds an entry, a few hundred bytes. */
const maxWaitingSteps = 2048;

/** Directories that may wait for their last node. Each holds a part of the file cache, up to 64 KiB, and an open node. */
const maxWaitingDirectories = 256;

export class WaitingSteps {
  #steps = 0;
  #directories = 0;
  readonly #onLess: (() => void)[] = [];

  /** A promise that ends when fewer steps wait, if too many do. */
  limit(): Promise<void> | undefined {
    return this.#isFull() ? this.#untilLess() : undefined;
  }

  /** Counts a step until it ends. */
  add(step: Promise<unknown>, kind: "entry" | "directory"): void {
    this.#steps++;
    if (kind === "directory") this.#directories++;
    const end = () => {
      this.#steps--;
      if (kind === "directory") this.#directories--;
      for (const resolve of this.#onLess.splice(0)) resolve();
    };
    step.then(end, end);
  }

  #isFull(): boolean {
    return this.#steps >= maxWaitingSteps || this.#directories >= maxWaitingDirectories;
  }

  async #untilLess(): Promise<void> {
    while (this.#isFull()) await new Promise<void>((resolve) => this.#onLess.push(resolve));
  }
}

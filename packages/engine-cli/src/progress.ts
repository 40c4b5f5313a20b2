/** Progress on standard error: nothing for the first two seconds, then one line per second. */

/** Most commands on a small repository end earlier and need no progress. */
const quietMs = 2000;

/** Often enough to show that the command works, and slow enough to read. */
const everyMs = 1000;

export class Progress {
  readonly #print: (line: string) => void;
  readonly #now: () => number;
  readonly #started: number;
  #last = 0;

  constructor(print: (line: string) => void, now: () => number) {
    this.#print = print;
    this.#now = now;
    this.#started = now();
  }

  report(describe: () => string): void {
    const now = this.#now();
    if (now - this.#started < quietMs || now - this.#last < everyMs) return;
    this.#last = now;
    this.#print(`${Math.round((now - this.#started) / 1000)} s: ${describe()}`);
  }

  end(): void {
    if (this.#last !== 0) this.#print(`${Math.round((this.#now() - this.#started) / 1000)} s: done`);
  }
}

/** A size with its unit, as text. */
export function bytesText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit] ?? ""}`;
}

/**
 * Random trees and random edits, repeatable by seed. Many sizes are near the engine's boundaries. Content is random, text,
 * zeros, pages, or a mixture that shares parts with other files.
 */

import { createCipheriv } from "node:crypto";
import {
  appendFileSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";

/** A small random generator (xorshift32). The same seed gives the same numbers. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = (Math.imul(seed, 2654435761) ^ 0x9e3779b9) >>> 0 || 1;
    for (let i = 0; i < 8; i++) this.next();
  }

  next(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x >>> 0;
    return this.#state;
  }

  below(limit: number): number {
    return this.next() % limit;
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(values: readonly T[]): T {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new RangeError("nothing to pick from");
    return value;
  }

  bytes(length: number): Buffer {
    const key = Buffer.alloc(32);
    key.writeUInt32LE(this.next(), 0);
    return createCipheriv("aes-256-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(length));
  }
}

const boundaries = [0, 1, 511, 2047, 2048, 2049, 8191, 8192, 8193, 65535, 65536, 65537, 131072];
const largeBoundaries = [262143, 262144, 262145, 524287, 524288, 1048577, 4194303, 4194304, 4194305, 8388609];

/** Size of a file: mostly small, often at a boundary, rarely large. */
function sizeFor(random: SeededRandom): number {
  const kind = random.below(100);
  if (kind < 45) return random.below(3000);
  if (kind < 75) return random.pick(boundaries);
  if (kind < 98) return random.below(40_000);
  return random.pick(largeBoundaries);
}

/** File content of a size, of one of several kinds. */
export function contentFor(random: SeededRandom, size: number): Buffer {
  switch (random.below(5)) {
    case 0:
      return random.bytes(size);
    case 1:
      return Buffer.alloc(size, `<cbc:ID>${random.below(1000)}</cbc:ID> `);
    case 2:
      return Buffer.alloc(size);
    case 3:
      return pagesFor(random, size);
    default: {
      const shared = new SeededRandom(random.below(3)).bytes(Math.min(size, 50_000));
      return Buffer.concat([shared, random.bytes(size - shared.length)]);
    }
  }
}

function pagesFor(random: SeededRandom, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  const filler = random.bytes(512);
  for (let at = 0; at + 8192 <= size; at += 8192) {
    bytes[at] = 1;
    bytes[at + 1] = 1 + (at % 3);
    bytes.writeUInt32LE(at, at + 4);
    filler.copy(bytes, at + 96);
  }
  return bytes;
}

const oddNames: readonly Buffer[] = [
  Buffer.from("İstanbul ığüşöç.xml"),
  Buffer.from("e\u0301.txt"),
  Buffer.from("\u00e9.txt"),
  Buffer.from([0xff, 0xfe, 0x80]),
  Buffer.from("a b\tc\n"),
  Buffer.from("x".repeat(250)),
  Buffer.from("-rf"),
  Buffer.from("CON.txt"),
  Buffer.from("0"),
];

const slash = Buffer.from("/");

/** A folder of random files that is filled and edited. All paths are bytes. */
export class RandomTree {
  readonly #random: SeededRandom;
  readonly #root: Buffer;
  #directories: Buffer[];
  #files: Buffer[] = [];
  #count = 0;
  #clock = 1_500_000_000;

  constructor(root: string, random: SeededRandom) {
    this.#random = random;
    this.#root = Buffer.from(root);
    this.#directories = [this.#root];
    mkdirSync(this.#root, { recursive: true });
  }

  fill(files: number): void {
    const random = this.#random;
    for (let i = random.below(4); i > 0; i--) this.#makeDirectory();
    for (let i = 0; i < files; i++) this.#makeFile();
    if (random.chance(30)) this.#makeLink();
  }

  /** One random change. */
  edit(): void {
    const random = this.#random;
    const file = this.#files.length === 0 ? null : random.pick(this.#files);
    const edits: readonly (() => void)[] = [
      () => this.#makeFile(),
      () => this.#rewrite(file, (old) => inserted(random, old)),
      () =>
        this.#rewrite(file, (old) => Buffer.concat([old.subarray(0, old.length >> 2), old.subarray(old.length >> 1)])),
      () => this.#rewrite(file, (old) => changedPages(random, old)),
      () => this.#rename(file),
      () => this.#remove(file),
      () => this.#append(file),
      () => this.#truncate(file),
      () => this.#moveDirectory(),
    ];
    if (file === null) this.#makeFile();
    else random.pick(edits)();
  }

  /** Gives every directory a whole second as its time, so that trees compare exactly. */
  settle(): void {
    for (const directory of this.#directories) utimesSync(directory, this.#clock, this.#clock);
  }

  #place(): Buffer {
    const random = this.#random;
    const name = random.chance(25) ? random.pick(oddNames) : Buffer.from(`f${this.#count++}`);
    return Buffer.concat([random.pick(this.#directories), slash, name]);
  }

  #makeDirectory(): void {
    const at = this.#place();
    if (isTaken(at)) return;
    mkdirSync(at);
    this.#directories.push(at);
  }

  #makeFile(): void {
    const at = this.#place();
    if (isTaken(at)) return;
    writeFileSync(at, contentFor(this.#random, sizeFor(this.#random)));
    this.#files.push(at);
    this.#touch(at);
  }

  #makeLink(): void {
    const at = this.#place();
    if (!isTaken(at)) symlinkSync(this.#random.pick(oddNames), at);
  }

  #rewrite(file: Buffer | null, change: (old: Buffer) => Buffer): void {
    if (file === null) return;
    writeFileSync(file, change(readFileSync(file)));
    this.#touch(file);
  }

  #rename(file: Buffer | null): void {
    const to = this.#place();
    if (file === null || isTaken(to)) return;
    renameSync(file, to);
    this.#files = [...this.#files.filter((each) => !each.equals(file)), to];
  }

  #remove(file: Buffer | null): void {
    if (file === null) return;
    rmSync(file);
    this.#files = this.#files.filter((each) => !each.equals(file));
  }

  #append(file: Buffer | null): void {
    if (file === null) return;
    appendFileSync(file, this.#random.bytes(this.#random.below(5000)));
    this.#touch(file);
  }

  #truncate(file: Buffer | null): void {
    if (file === null) return;
    // Longer than it was makes a hole, shorter cuts it.
    truncateSync(file, this.#random.below(100_000));
    this.#touch(file);
  }

  #moveDirectory(): void {
    const movable = this.#directories.filter((each) => !each.equals(this.#root));
    if (movable.length === 0) {
      this.#makeDirectory();
      return;
    }
    const from = this.#random.pick(movable);
    const to = Buffer.concat([this.#root, slash, Buffer.from(`moved${this.#count++}`)]);
    renameSync(from, to);
    const follow = (each: Buffer) =>
      each.equals(from) || each.subarray(0, from.length + 1).equals(Buffer.concat([from, slash]))
        ? Buffer.concat([to, each.subarray(from.length)])
        : each;
    this.#directories = this.#directories.map(follow);
    this.#files = this.#files.map(follow);
  }

  /** Every change gets another time in the past: the file cache takes only files that changed some seconds ago. */
  #touch(file: Buffer): void {
    this.#clock += 10;
    utimesSync(file, this.#clock, this.#clock);
  }
}

/** Whether the name exists, even as a dangling link. */
function isTaken(at: Buffer): boolean {
  return lstatSync(at, { throwIfNoEntry: false }) !== undefined;
}

function inserted(random: SeededRandom, old: Buffer): Buffer {
  const half = old.length >> 1;
  return Buffer.concat([old.subarray(0, half), random.bytes(random.below(300)), old.subarray(half)]);
}

function changedPages(random: SeededRandom, old: Buffer): Buffer {
  const bytes = Buffer.from(old);
  for (let i = 0; i < 3 && bytes.length >= 8192; i++) {
    const at = random.below(Math.floor(bytes.length / 8192)) * 8192;
    random.bytes(100).copy(bytes, at + 200);
  }
  return bytes;
}

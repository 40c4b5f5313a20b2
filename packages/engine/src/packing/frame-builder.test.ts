import assert from "node:assert/strict";
import { test } from "node:test";
import { openFrame, readFrameHeader } from "../format/frame.ts";
import { frameKey } from "../format/session-header.ts";
import { seededBytes } from "../testing/test-environment.ts";
import { FrameBuilder } from "./frame-builder.ts";
import type { FrameClass } from "./frame-class.ts";

const pageBytes = 8192;
const pages = 128;

const worker = {
  session: 1,
  worker: 1,
  contentKey: seededBytes(1)(32),
  binding: seededBytes(2)(32),
};

/** Pages of rows that are made of a few hundred phrases: a higher level finds longer repetitions. */
function databasePages(): Uint8Array {
  const picks = seededBytes(5)(pageBytes * 16);
  const phrases = Array.from({ length: 256 }, (_, i) => Buffer.from(seededBytes(100 + i)(12)).toString("hex"));
  const rows: string[] = [];
  for (let at = 0; at + 4 < picks.length; at += 4) {
    const [account, text, amount, kind] = picks.subarray(at, at + 4);
    rows.push(`${phrases[account ?? 0]}\0\0${phrases[text ?? 0]}\0${amount}\0\0${(kind ?? 0) % 7}\0\0\0`);
  }
  return Buffer.from(rows.join("")).subarray(0, pageBytes * pages);
}

/** Seals two frames of the same pages; checks that both can be opened, and returns their lengths. */
function sealTwice(hasBase: boolean, frameClass: FrameClass): readonly number[] {
  const bytes = databasePages();
  const frames: Uint8Array[] = [];
  const allocate = (length: number) => Buffer.alloc(length);
  const onSealed = (_: number, sealed: Uint8Array) => frames.push(sealed);
  const builder = new FrameBuilder({ ...worker, hasBase }, allocate, onSealed, bytes.length);
  const portion = {
    bytes,
    starts: Uint32Array.from({ length: pages }, (_, i) => i * pageBytes),
    lengths: new Uint32Array(pages).fill(pageBytes),
    ids: seededBytes(6)(16 * pages),
  };
  for (const n of [1, 2]) builder.append({ frameClass, n, runs: Uint32Array.of(0, pages), seal: true }, portion);
  for (const sealed of frames) {
    const key = frameKey(worker.contentKey, readFrameHeader(sealed));
    assert.ok(openFrame(sealed, key, worker.binding).subarray(0, bytes.length).equals(bytes));
  }
  return frames.map(({ length }) => length);
}

test("pages of a backup with a base are compressed at level high up to a bound and at medium beyond it, those of a first backup at fast", () => {
  const [fast, fastAgain] = sealTwice(false, "page");
  const [high, medium] = sealTwice(true, "page");
  // Which one is smaller depends on the pages; tests/engine/ofis-economy.test.ts checks it with a database.
  assert.equal(new Set([fast, high, medium]).size, 3);
  assert.equal(fastAgain, fast);
});

test("other compressible blocks are compressed at the same level in both", () => {
  assert.deepEqual(sealTwice(true, "compressible"), sealTwice(false, "compressible"));
});

test("a frame sealed in place equals one sealed from a copy, and the bytes behind it are unchanged", () => {
  const pagesOf = databasePages();
  const starts = Uint32Array.from({ length: pages }, (_, i) => i * pageBytes);
  const lengths = new Uint32Array(pages).fill(pageBytes);
  const ids = seededBytes(6)(16 * pages);
  const sealedFrom = (bytes: Uint8Array, appends: readonly Uint32Array[]) => {
    const frames: Uint8Array[] = [];
    const builder = new FrameBuilder({ ...worker, hasBase: false }, Buffer.alloc, (_, sealed) => frames.push(sealed));
    for (const [i, runs] of appends.entries()) {
      const seal = i === appends.length - 1;
      builder.append({ frameClass: "page", n: 1, runs, seal }, { bytes, starts, lengths, ids });
    }
    assert.equal(frames.length, 1);
    return frames[0];
  };
  const padded = new Uint8Array(pagesOf.length + pageBytes);
  padded.set(pagesOf);
  padded.fill(7, pagesOf.length);
  for (const count of [pages, 100]) {
    const before = Uint8Array.from(padded);
    const inPlace = sealedFrom(padded, [Uint32Array.of(0, count)]);
    assert.deepEqual(padded, before);
    assert.deepEqual(inPlace, sealedFrom(padded, [Uint32Array.of(0, 9), Uint32Array.of(9, count - 9)]));
  }
  assert.deepEqual(
    sealedFrom(padded, [Uint32Array.of(0, pages)]),
    // No memory behind the last page.
    sealedFrom(pagesOf, [Uint32Array.of(0, pages)]),
  );
});

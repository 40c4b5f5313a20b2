import assert from "node:assert/strict";
import { test } from "node:test";
import { openFrame } from "../format/frame.ts";
import { seededBytes } from "../testing/test-environment.ts";
import type { FrameClass } from "../workers/cut-messages.ts";
import { FrameBuilder } from "./frame-builder.ts";

const pageBytes = 8192;
const pages = 128;

const worker = {
  route: 1,
  session: 1,
  worker: 1,
  key: seededBytes(1)(32),
  binding: seededBytes(2)(32),
  blockIdKey: seededBytes(3)(32),
  cutterKey: seededBytes(4)(32),
};

/** Pages of rows that are made of a few hundred phrases: the more is tried, the longer are the repetitions found. */
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

/** Seals two frames of the same pages; returns their lengths and checks that both come back. */
function sealTwice(increment: boolean, frameClass: FrameClass): readonly number[] {
  const bytes = databasePages();
  const frames: Uint8Array[] = [];
  const room = (length: number) => Buffer.alloc(length);
  const shop = new FrameBuilder({ ...worker, increment }, room, (_, sealed) => frames.push(sealed), bytes.length);
  const held = {
    bytes,
    starts: Uint32Array.from({ length: pages }, (_, i) => i * pageBytes),
    lengths: new Uint32Array(pages).fill(pageBytes),
    ids: seededBytes(6)(16 * pages),
  };
  for (const n of [1, 2]) shop.take({ frameClass, n, runs: Uint32Array.of(0, pages), seal: true }, held);
  for (const sealed of frames)
    assert.ok(openFrame(sealed, worker.key, worker.binding).subarray(0, bytes.length).equals(bytes));
  return frames.map(({ length }) => length);
}

test("pages of an increment are compressed thoroughly up to a bound and carefully beyond it, those of a first backup quickly", () => {
  const [quick, quickAgain] = sealTwice(false, "page");
  const [thorough, beyond] = sealTwice(true, "page");
  // Whether it is smaller depends on the pages; tests/engine/ofis-economy.test.ts asks that of a database.
  assert.equal(new Set([quick, thorough, beyond]).size, 3);
  assert.equal(quickAgain, quick);
});

test("text is compressed alike in both", () => {
  assert.deepEqual(sealTwice(true, "text"), sealTwice(false, "text"));
});

test("a frame sealed where it lies is the one that is sealed from a copy, and what lies behind it stays", () => {
  const pagesOf = databasePages();
  const starts = Uint32Array.from({ length: pages }, (_, i) => i * pageBytes);
  const lengths = new Uint32Array(pages).fill(pageBytes);
  const ids = seededBytes(6)(16 * pages);
  const sealedFrom = (bytes: Uint8Array, orders: readonly Uint32Array[]) => {
    const frames: Uint8Array[] = [];
    const shop = new FrameBuilder({ ...worker, increment: false }, Buffer.alloc, (_, sealed) => frames.push(sealed));
    for (const [i, runs] of orders.entries()) {
      const seal = i === orders.length - 1;
      shop.take({ frameClass: "page", n: 1, runs, seal }, { bytes, starts, lengths, ids });
    }
    assert.equal(frames.length, 1);
    return frames[0];
  };
  const roomy = new Uint8Array(pagesOf.length + pageBytes);
  roomy.set(pagesOf);
  roomy.fill(7, pagesOf.length);
  for (const count of [pages, 100]) {
    const before = Uint8Array.from(roomy);
    const inPlace = sealedFrom(roomy, [Uint32Array.of(0, count)]);
    assert.deepEqual(roomy, before);
    assert.deepEqual(inPlace, sealedFrom(roomy, [Uint32Array.of(0, 9), Uint32Array.of(9, count - 9)]));
  }
  assert.deepEqual(
    sealedFrom(roomy, [Uint32Array.of(0, pages)]),
    // No room behind the last page.
    sealedFrom(pagesOf, [Uint32Array.of(0, pages)]),
  );
});

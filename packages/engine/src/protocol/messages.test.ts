import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ClientUnit, SegmentAnswer, SegmentQuery } from "../backup/upload-target.ts";
import { ByteWriter, FormatError } from "../format/bytes.ts";
import { noRetention } from "../format/snapshot.ts";
import { assertSameAnswer } from "../testing/target-doubles.ts";
import { decodeCompletion, decodeDraft, encodeCompletion, encodeDraft } from "./completion-messages.ts";
import { decodeFind, decodeFound, encodeFind, encodeFound, type Found } from "./find-messages.ts";
import { emptyRequest, maxRequestBytes, readDoneAnswer, readEmptyRequest } from "./message.ts";
import {
  decodeNodeAnswers,
  decodeNodeOffer,
  decodeOffer,
  decodeSegmentAnswers,
  encodeNodeAnswers,
  encodeNodeOffer,
  encodeOffer,
  encodeSegmentAnswers,
} from "./offer-messages.ts";
import {
  decodeBegin,
  decodeOrdinalRequest,
  decodeOrdinals,
  decodeStart,
  encodeBegin,
  encodeOrdinalRequest,
  encodeOrdinals,
  encodeStart,
} from "./start-messages.ts";
import { decodeUnit, encodeUnit } from "./unit-message.ts";

const runs = { seed: 530, numRuns: 300 };
const number = fc.oneof(fc.nat(300), fc.maxSafeNat());
const id = fc.uint8Array({ minLength: 32, maxLength: 32 });
const name = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes).toString("hex"));
const hook = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const bytes = fc.uint8Array({ maxLength: 100 });
const list = <T>(each: fc.Arbitrary<T>) => fc.array(each, { maxLength: 6 });

const query: fc.Arbitrary<SegmentQuery> = fc.record({
  id,
  blockIds: fc.nat(5).chain((count) => fc.uint8Array({ minLength: count * 16, maxLength: count * 16 })),
  hooks: list(hook),
  oldSegments: list(number),
  continues: fc.boolean(),
  precedingHooks: list(hook),
});

const places = fc.array(fc.tuple(fc.constantFrom(0, 1, 7, 2 ** 50), fc.constantFrom(0, 1, 2, 3, 2 ** 24 - 9)), {
  maxLength: 12,
});
const segmentAnswer: fc.Arbitrary<SegmentAnswer> = fc.tuple(fc.nat(3), places).map(([ordinal, at]) => ({
  ordinal,
  frames: Float64Array.from(ordinal === 0 ? at.map(([frame]) => frame) : []),
  slots: Uint32Array.from(ordinal === 0 ? at.map(([frame, slot]) => (frame === 0 ? 0 : slot)) : []),
}));

const unit: fc.Arbitrary<ClientUnit> = fc.record({
  number,
  packs: list(name),
  blockLists: list(fc.record({ frame: number, recordFrame: number, blockList: bytes })),
  items: list(
    fc.record({
      ordinal: number,
      kind: fc.constantFrom("segment" as const, "node" as const),
      id,
      recipe: bytes,
      recordFrame: number,
    }),
  ),
  hooks: list(fc.tuple(hook, number)),
  follows: list(fc.tuple(number, number)),
});

const row = {
  ...{ id: "ab".repeat(16), source: "a source", session: 3, startedAt: 1, completedAt: 2, rootOrdinal: 9 },
  ...{ rootId: Buffer.alloc(32, 4), size: 5, files: 6, warnings: 7, storedBytes: 8, status: "completed" as const },
  ...{ retention: noRetention, changes: 0, reach: Buffer.of(1) },
};

test("what is encoded is decoded again: every request and every answer", () => {
  fc.assert(
    fc.property(list(query), (queries) => assertSameAnswer(decodeOffer(encodeOffer(queries)), queries)),
    runs,
  );
  fc.assert(
    fc.property(list(segmentAnswer), (answers) => {
      const blocks = answers.map(({ frames }) => frames.length);
      assertSameAnswer(decodeSegmentAnswers(encodeSegmentAnswers(answers), blocks), answers);
    }),
    runs,
  );
  fc.assert(
    fc.property(unit, (each) => assertSameAnswer(decodeUnit(encodeUnit(each)), each)),
    runs,
  );
  fc.assert(
    fc.property(list(id), (ids) => assertSameAnswer(decodeNodeOffer(encodeNodeOffer(ids)), ids)),
    runs,
  );
  fc.assert(
    fc.property(list(fc.option(fc.integer({ min: 1 }))), (ordinals) =>
      assert.deepEqual(decodeNodeAnswers(encodeNodeAnswers(ordinals), ordinals.length), ordinals),
    ),
    runs,
  );
  fc.assert(
    fc.property(fc.option(name), (base) => assert.equal(decodeBegin(encodeBegin(base)), base)),
    runs,
  );
  const range = fc.tuple(fc.nat(2 ** 40), fc.nat(9)).map(([first, count]) => ({ first, end: first + count }));
  fc.assert(
    fc.property(range, (each) => assert.deepEqual(decodeOrdinals(encodeOrdinals(each)), each)),
    runs,
  );
  const start = fc.record({
    ...{ session: fc.nat(2 ** 32 - 1), nonce: number, catalogId: number, ordinals: range },
    damaged: fc.uniqueArray(fc.nat(2 ** 40), { maxLength: 9 }).map((all) => all.sort((a, b) => a - b)),
  });
  fc.assert(
    fc.property(start, (each) => assertSameAnswer(decodeStart(encodeStart(each)), each)),
    runs,
  );
  fc.assert(
    fc.property(number, number, (request, count) =>
      assert.deepEqual(decodeOrdinalRequest(encodeOrdinalRequest(request, count)), { request, count }),
    ),
    runs,
  );
});

test("a draft is its id, its source and its manifest; the answer adds what the service decides", () => {
  const draft = { manifest: Buffer.from("a signed manifest"), row: { ...row, source: "ofis-İŞĞ" } };
  const read = decodeDraft(encodeDraft(draft));
  assert.deepEqual(
    [read.row.id, read.row.source, Buffer.from(read.manifest)],
    [row.id, "ofis-İŞĞ", Buffer.from("a signed manifest")],
  );
  assert.deepEqual(read.row.retention, noRetention, "a client chooses no retention");
  for (const status of ["completed", "recovered", "deleting"] as const) {
    const decided = { status, completedAt: 77, retention: { ...noRetention, lockedUntil: 99 }, changes: 12 };
    assert.deepEqual(decodeCompletion(encodeCompletion({ ...row, ...decided }), draft), { ...draft.row, ...decided });
  }
});

/** Every request of the protocol, with its decoder. */
const requests: readonly (readonly [Buffer, (bytes: Uint8Array) => unknown])[] = [
  [encodeBegin("ab".repeat(16)), decodeBegin],
  [encodeOrdinalRequest(3, 4096), decodeOrdinalRequest],
  [encodeOffer(fc.sample(fc.array(query, { minLength: 3, maxLength: 3 }), runs)[0] ?? []), decodeOffer],
  [encodeNodeOffer([Buffer.alloc(32, 1), Buffer.alloc(32, 2)]), decodeNodeOffer],
  [encodeUnit(fc.sample(unit, { ...runs, numRuns: 40 }).at(-1) ?? assert.fail()), decodeUnit],
  [encodeDraft({ manifest: Buffer.alloc(50), row }), decodeDraft],
  [emptyRequest("renew"), (each) => readEmptyRequest("renew", each)],
  [emptyRequest("abandon"), (each) => readEmptyRequest("abandon", each)],
  [encodeFind({ withContent: true, paths: [Buffer.from("a/b"), Buffer.alloc(0)] }), decodeFind],
];

test("what `find` answers is read as it was written; one that is cut or too long is refused", () => {
  const start = {
    keys: { vaultId: Buffer.alloc(16, 1), blockIdKey: Buffer.alloc(32, 2), nodeKey: Buffer.alloc(32, 3) },
    root: { ordinal: 7, id: Buffer.alloc(32, 4) },
  };
  const found: Found = {
    items: [
      {
        ...{ ordinal: 9, kind: "node", id: Buffer.alloc(32, 5), recipe: Buffer.of(0), recordFrame: 300 },
        ...{ verified: true, next: 0, owner: "" },
      },
    ],
    frames: [
      {
        ...{ frame: 2 ** 30, generation: 1, kind: "data", pack: "ab".repeat(16), offset: 5, length: 3, session: 8 },
        ...{ frameId: Buffer.alloc(32, 6), recordFrame: 301, damaged: false, blockList: Buffer.of(1, 2) },
      },
    ],
    keys: [{ frame: 2 ** 30, generation: 1, session: 8, key: Buffer.alloc(32, 7), binding: Buffer.alloc(32, 8) }],
    ranges: [{ pack: "ab".repeat(16), offset: 5, bytes: Buffer.of(1, 2, 3) }],
  };
  const answer = encodeFound(start, found);
  assert.deepEqual(decodeFound(answer), { start, found });
  for (let end = 0; end < answer.length; end++)
    assert.throws(() => decodeFound(answer.subarray(0, end)), FormatError, `${end} of ${answer.length}`);
  const long = { pack: "ab".repeat(16), offset: 0, bytes: Buffer.alloc(8 * 1024 * 1024 + 1) };
  assert.throws(() => decodeFound(encodeFound(start, { ...found, ranges: [long] })), /the ranges are too long/);
});

test("`find` with too many paths, or with a count that does not fit, is refused before anything is read", () => {
  const paths = Array.from({ length: 65 }, () => Buffer.of(97));
  assert.throws(() => decodeFind(encodeFind({ withContent: false, paths })), /too many paths: 65, at most 64/);
  assert.throws(() => decodeFind(Buffer.of(1, 20, 0, 60, 0)), /do not fit into the message/);
  assert.throws(() => decodeFind(Buffer.of(1, 20, 2, 0, 0)), /with content is 2, not 0 or 1/);
});

test("a request that is truncated anywhere, has a byte too many, another version or another operation is refused", () => {
  for (const [request, decode] of requests) {
    decode(request);
    for (let end = 0; end < request.length; end++)
      assert.throws(() => decode(request.subarray(0, end)), FormatError, `${end} of ${request.length}`);
    assert.throws(() => decode(Buffer.concat([request, Buffer.of(0)])), /1 bytes too many/);
    const changed = (at: number, value: number) => Buffer.concat([request]).fill(value, at, at + 1);
    assert.throws(() => decode(changed(0, 2)), /version 2 is not known/);
    assert.throws(() => decode(changed(1, 99)), /operation 99 instead of/);
    assert.throws(() => decode(changed(1, (request[1] ?? 0) | 0x80)), FormatError, "an answer is no request");
  }
});

test("a field of a later version after the payload is skipped", () => {
  for (const [request, decode] of requests) {
    const later = new ByteWriter().raw(request.subarray(0, -1)).varint(1).varint(5).text("later").take();
    assertSameAnswer(decode(later), decode(request));
  }
});

test("random bytes and random changes of a request throw FormatError or are read, and nothing else happens", () => {
  const tryAll = (each: Uint8Array) => {
    for (const [, decode] of requests) {
      try {
        decode(each);
      } catch (error) {
        if (!(error instanceof FormatError)) throw error;
      }
    }
  };
  fc.assert(
    fc.property(fc.constantFrom(...requests), fc.array(fc.tuple(fc.nat(), fc.nat(255))), ([request], changes) => {
      const changed = Buffer.from(request);
      for (const [at, value] of changes) changed[2 + (at % (changed.length - 2))] = value;
      tryAll(changed);
    }),
    { ...runs, numRuns: 3000 },
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: 1, max: 9 }), (tail, operation) => {
      tryAll(Buffer.concat([Buffer.of(1, operation), tail]));
    }),
    { ...runs, numRuns: 3000 },
  );
});

test("counts that are larger than the message are refused before memory is allocated, and named", () => {
  const huge = (operation: number) => new ByteWriter().u8(1).u8(operation);
  const before = process.memoryUsage().rss;
  assert.throws(() => decodeOffer(huge(3).varint(513).take()), /too many segments: 513, at most 512/);
  assert.throws(() => decodeOffer(huge(3).varint(512).take()), /512 segments do not fit/);
  const oneSegment = () => huge(3).varint(1).raw(Buffer.alloc(32));
  assert.throws(
    () =>
      decodeOffer(
        oneSegment()
          .varint(2 ** 40)
          .take(),
      ),
    /too many blocks of a segment/,
  );
  assert.throws(
    () =>
      decodeOffer(
        oneSegment()
          .varint(1 << 18)
          .raw(Buffer.alloc(99))
          .take(),
      ),
    /262144 blocks of a segment do not fit/,
  );
  assert.throws(
    () => decodeOffer(oneSegment().varint(0).varint(65).raw(Buffer.alloc(999)).take()),
    /too many hooks: 65/,
  );
  assert.throws(
    () => decodeOffer(oneSegment().varint(0).varint(0).varint(65).raw(Buffer.alloc(999)).take()),
    /too many old segments: 65/,
  );
  assert.throws(() => decodeNodeOffer(huge(4).varint(2049).take()), /too many nodes: 2049, at most 2048/);
  assert.throws(() => decodeUnit(huge(5).varint(1).varint(1025).take()), /too many packs: 1025/);
  assert.throws(() => decodeUnit(huge(5).varint(1).varint(0).varint(65_537).take()), /too many block lists/);
  assert.throws(() => decodeUnit(huge(5).varint(1).varint(0).varint(0).varint(65_537).take()), /too many items/);
  assert.throws(
    () =>
      decodeUnit(
        huge(5)
          .varint(1)
          .varint(0)
          .varint(0)
          .varint(0)
          .varint(2 ** 20)
          .take(),
      ),
    /too many hooks/,
  );
  assert.ok(process.memoryUsage().rss - before < 64 * 1024 * 1024);
});

test("a flag or a kind that is neither 0 nor 1 is refused and named", () => {
  const request = (operation: number) => new ByteWriter().u8(1).u8(operation);
  assert.throws(
    () => decodeBegin(request(1).u8(2).raw(Buffer.alloc(16)).varint(0).take()),
    /has base is 2, not 0 or 1/,
  );
  const query = request(3).varint(1).raw(Buffer.alloc(32)).varint(0).varint(0).varint(0).u8(7).varint(0).varint(0);
  assert.throws(() => decodeOffer(query.take()), /continues is 7, not 0 or 1/);
  const item = request(5).varint(1).varint(0).varint(0).varint(1).varint(9).u8(3).raw(Buffer.alloc(40));
  assert.throws(() => decodeUnit(item.take()), /the kind of an item is 3, not 0 or 1/);
});

test("a request that is longer than the limit of its operation is refused", () => {
  for (const [request, decode] of requests)
    assert.throws(() => decode(Buffer.concat([request, Buffer.alloc(maxRequestBytes.complete)])), /is too long/);
});

test("values that no message can have are refused when they are encoded", () => {
  const empty = { number: 1, packs: [], blockLists: [], items: [], hooks: [], follows: [] };
  assert.throws(() => encodeBegin("no id"), FormatError);
  assert.throws(() => encodeOrdinalRequest(1, -1), FormatError);
  assert.throws(() => encodeOrdinalRequest(1.5, 1), FormatError);
  assert.throws(() => encodeUnit({ ...empty, packs: ["x"] }), FormatError);
  assert.throws(() => encodeUnit({ ...empty, number: -1 }), FormatError);
  assert.throws(() => encodeNodeOffer([Buffer.alloc(31)]), FormatError);
});

test("answers that do not fit their question are refused: other counts, runs that end beyond it, an unknown status", () => {
  const answer = (operation: number) => new ByteWriter().u8(1).u8(operation | 0x80);
  const whole = encodeSegmentAnswers([{ ordinal: 0, frames: Float64Array.of(5, 5), slots: Uint32Array.of(1, 2) }]);
  assert.throws(() => decodeSegmentAnswers(whole, [2, 2]), /1 answers to 2 segments/);
  assert.throws(() => decodeSegmentAnswers(whole, [1]), /a run of blocks is empty or too long/);
  assert.throws(() => decodeSegmentAnswers(whole, [3]), FormatError);
  const slot = answer(3)
    .varint(1)
    .varint(0)
    .varint(2)
    .varint(5)
    .varint(2 ** 24)
    .varint(0)
    .take();
  assert.throws(() => decodeSegmentAnswers(slot, [2]), /a slot is out of range/);
  const endless = answer(3).varint(1).varint(0).varint(0).varint(0).take();
  assert.throws(() => decodeSegmentAnswers(endless, [2]), /a run of blocks is empty/);
  assert.throws(() => decodeNodeAnswers(encodeNodeAnswers([1]), 2), /1 answers to 2 nodes/);
  assert.throws(
    () => decodeCompletion(answer(7).u8(3).raw(Buffer.alloc(30)).take(), { manifest: row.reach, row }),
    /status 3/,
  );
  assert.throws(() => readDoneAnswer("renew", emptyRequest("renew")), /operation 6 instead of 134/);
  const far = answer(2).varint(Number.MAX_SAFE_INTEGER).varint(1).varint(0).take();
  assert.throws(() => decodeOrdinals(far), /out of range/);
});

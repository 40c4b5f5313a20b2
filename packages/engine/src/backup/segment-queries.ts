/**
 * Queries the target: which segments and blocks of a portion are stored? A portion is queried when it arrives. Several
 * queries are in flight at the same time (`joined-calls.ts`), because no query depends on the answer to an earlier one. The buffers of the
 * workers bound their number: a worker keeps the bytes of a portion until the portion is answered.
 */

import { blockIdLength, idLength } from "../format/hash.ts";
import { hooksOf } from "../packing/hooks.ts";
import type { JobPlan } from "../workers/cut-job-queue.ts";
import type { Portion } from "../workers/cut-messages.ts";
import type { SegmentAnswer, SegmentQuery } from "./upload-target.ts";
import { maxSegmentsPerOffer } from "./upload-target.ts";

/** Blocks of an offer for several portions: a megabyte of ids. A longer call would keep the workers waiting. */
const maxBlocksPerOffer = 64 * 1024;

/** Whether queries of several portions go into one call. Small files come in portions of a megabyte. */
export function fitIntoOffer(queries: readonly SegmentQuery[]): boolean {
  const bytes = queries.reduce((sum, { blockIds }) => sum + blockIds.length, 0);
  return queries.length <= maxSegmentsPerOffer && bytes <= maxBlocksPerOffer * blockIdLength;
}

/** Hooks of one bundle at most. */
const maxHooksPerSegment = 48;

/** Hooks of each file in a bundle. So a style sheet in an invoice is found through any other invoice that contains it. */
const hooksPerFile = 2;

/** A file of fewer blocks gets no hooks for itself. Its bundle has hooks. */
const minBlocksForOwnHooks = 4;

/** A segment of a portion, and what is stored of it. */
export interface QueriedSegment {
  readonly id: Uint8Array;
  /** Its first block in the portion. */
  readonly first: number;
  readonly hooks: readonly bigint[];
  /** Null if the target was not queried, because this upload has stored the segment. */
  readonly answer: SegmentAnswer | null;
}

/** The portions of a job that were queried so far. */
interface JobProgress {
  bytes: number;
  /** Hooks of the last segment so far. */
  hooks: readonly bigint[];
}

export class SegmentQueries {
  readonly #offer: (queries: readonly SegmentQuery[]) => Promise<readonly SegmentAnswer[]>;
  readonly #isOwn: (id: Uint8Array) => boolean;
  readonly #jobs = new Map<number, JobProgress>();

  /** `isOwn`: the upload has stored a segment with this id, so it is not queried. */
  constructor(
    offer: (queries: readonly SegmentQuery[]) => Promise<readonly SegmentAnswer[]>,
    isOwn: (id: Uint8Array) => boolean,
  ) {
    this.#offer = offer;
    this.#isOwn = isOwn;
  }

  /** Queries all segments of a portion. Portions of one job must come in order. */
  async find(portion: Portion, plan: JobPlan): Promise<readonly QueriedSegment[]> {
    const job = this.#jobs.get(portion.job) ?? { bytes: 0, hooks: [] };
    if (portion.last) this.#jobs.delete(portion.job);
    else this.#jobs.set(portion.job, job);
    const queried: { readonly segment: number; readonly query: SegmentQuery }[] = [];
    const segments = segmentsOf(portion, plan.kind === "bundle").map(({ id, first, count, hooks }, segment) => {
      const bytes = sumOf(portion.lengths, first, count);
      if (!this.#isOwn(id)) {
        const continues = queried.at(-1)?.segment === segment - 1;
        const blockIds = portion.ids.subarray(first * blockIdLength, (first + count) * blockIdLength);
        const oldSegments = plan.oldSegmentsAt(job.bytes, bytes);
        const precedingHooks = continues ? [] : job.hooks;
        queried.push({ segment, query: { id, blockIds, hooks, oldSegments, continues, precedingHooks } });
      }
      job.bytes += bytes;
      job.hooks = hooks;
      return { id, first, hooks };
    });
    const answers = queried.length === 0 ? [] : await this.#offer(queried.map(({ query }) => query));
    if (answers.length !== queried.length) throw new Error("the target returned fewer answers than queries");
    const bySegment = new Map(queried.map(({ segment }, i) => [segment, answers[i] ?? null]));
    return segments.map((each, segment) => ({ ...each, answer: bySegment.get(segment) ?? null }));
  }
}

function segmentsOf(portion: Portion, isBundle: boolean) {
  let block = 0;
  return Array.from(portion.segments, (count, i) => {
    const first = block;
    block += count;
    const id = portion.segmentIds.subarray(i * idLength, (i + 1) * idLength);
    return { id, first, count, hooks: segmentHooks(portion, first, count, isBundle) };
  });
}

/** The blocks of a bundle or a stripe, as far as hooks need them. */
interface HookedBlocks extends Pick<Portion, "ids" | "zeros"> {
  /** One per file of a bundle. */
  readonly outcomes: readonly { readonly blocks: number }[];
}

/** The hooks of a segment: its blocks are `count` from block `first` on. */
export function segmentHooks(portion: HookedBlocks, first: number, count: number, isBundle: boolean): bigint[] {
  const hooks = new Set(hooksOf(portion.ids, portion.zeros, first, count));
  if (isBundle) {
    let block = first;
    for (const { blocks } of portion.outcomes) {
      if (hooks.size >= maxHooksPerSegment) break;
      if (blocks >= minBlocksForOwnHooks)
        for (const hook of hooksOf(portion.ids, portion.zeros, block, blocks, hooksPerFile)) hooks.add(hook);
      block += blocks;
    }
  }
  return [...hooks];
}

function sumOf(values: Uint32Array, first: number, count: number): number {
  let sum = 0;
  for (let i = first; i < first + count; i++) sum += values[i] ?? 0;
  return sum;
}

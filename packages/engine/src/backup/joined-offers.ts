/**
 * Offers of several portions in one call. A call costs the service and the line much the same for one segment as for many, and small files come in
 * portions of a megabyte. A few calls are in flight at the same time; offers that come meanwhile go together into the next one.
 */

import { blockIdLength } from "../format/hash.ts";
import type { SegmentAnswer, SegmentQuery } from "./upload-target.ts";
import { maxSegmentsPerOffer } from "./upload-target.ts";

/** Calls in flight: while one is answered, the next one is on its way. */
const maxCalls = 2;

/** Blocks of one call: a megabyte of ids. A longer call would keep the workers waiting. */
const maxBlocksPerCall = 64 * 1024;

type Offer = (queries: readonly SegmentQuery[]) => Promise<readonly SegmentAnswer[]>;

interface WaitingOffer {
  readonly queries: readonly SegmentQuery[];
  readonly resolve: (answers: readonly SegmentAnswer[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Returns an `offer` that joins what waits. Each caller gets the answers to its own queries. */
export function joinedOffers(offer: Offer): Offer {
  const waiting: WaitingOffer[] = [];
  let calls = 0;
  const send = async () => {
    const joined = takeSome(waiting);
    const queries = joined.flatMap((each) => each.queries);
    calls++;
    try {
      const answers = await offer(queries);
      if (answers.length !== queries.length) throw new Error("the target returned fewer answers than queries");
      let at = 0;
      for (const each of joined) {
        each.resolve(answers.slice(at, at + each.queries.length));
        at += each.queries.length;
      }
    } catch (error) {
      for (const { reject } of joined) reject(error);
    }
    calls--;
    if (waiting.length > 0) void send();
  };
  return (queries) =>
    new Promise((resolve, reject) => {
      waiting.push({ queries, resolve, reject });
      if (calls < maxCalls) void send();
    });
}

/** Takes the first offer, and those behind it as far as one call may have them. */
function takeSome(waiting: WaitingOffer[]): WaitingOffer[] {
  let [segments, blocks] = [0, 0];
  const count = waiting.findIndex(({ queries }, at) => {
    segments += queries.length;
    blocks += queries.reduce((sum, { blockIds }) => sum + blockIds.length / blockIdLength, 0);
    return at > 0 && (segments > maxSegmentsPerOffer || blocks > maxBlocksPerCall);
  });
  return waiting.splice(0, count < 0 ? waiting.length : count);
}

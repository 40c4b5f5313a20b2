/**
 * Seals the frames of one worker of one session. The nonce of a seal is its counter, so one key must belong to one
 * sealer: the counter never repeats under a key. Worker 0 is the pipeline's own thread, the cutting workers count from 1.
 */

import type { AllocateFrame, CompressionLevel, FrameKind } from "../format/frame.ts";
import { sealFrame } from "../format/frame.ts";
import type { OpenSession } from "../format/session-header.ts";
import { sessionBinding, workerKey } from "../format/session-header.ts";

export interface SealingKey {
  readonly session: number;
  readonly worker: number;
  readonly key: Uint8Array;
  readonly binding: Uint8Array;
}

export class FrameSealer {
  readonly #key: SealingKey;
  #counter = 0;

  constructor(key: SealingKey) {
    this.#key = key;
  }

  seal(
    kind: FrameKind,
    frame: number,
    generation: number,
    plain: Uint8Array,
    level: CompressionLevel,
    allocate?: AllocateFrame,
  ): Uint8Array {
    const { session, worker, key, binding } = this.#key;
    const seal = { kind, frame, generation, session, worker, counter: this.#counter++, key, binding };
    return sealFrame(seal, plain, level, allocate);
  }
}

/** The sealer of the pipeline's own thread. A session has one. */
export function pipelineSealer({ header, contentKey }: OpenSession): FrameSealer {
  return new FrameSealer({
    session: header.session,
    worker: 0,
    key: workerKey(contentKey, 0),
    binding: sessionBinding(header),
  });
}

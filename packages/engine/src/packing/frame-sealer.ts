/**
 * Seals the frames of one worker of one session. Each frame's key is derived from the worker's number and a counter, so one
 * worker number must belong to one sealer: the counter never repeats. Worker 0 is the main thread, the cutting
 * workers count from 1.
 */

import type { AllocateFrame, CompressionLevel, FrameKind, FrameSeal } from "../format/frame.ts";
import { sealFrame } from "../format/frame.ts";
import type { OpenSession } from "../format/session-header.ts";
import { sessionBinding } from "../format/session-header.ts";

export interface SealingKey {
  readonly session: number;
  readonly worker: number;
  readonly contentKey: Uint8Array;
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
    return sealFrame(this.nextSeal(kind, frame, generation), plain, level, allocate);
  }

  /** What seals one frame, in any thread. Each call uses a counter that no other frame gets. */
  nextSeal(kind: FrameKind, frame: number, generation: number): FrameSeal {
    const { session, worker, contentKey, binding } = this.#key;
    return { kind, frame, generation, session, worker, counter: this.#counter++, contentKey, binding };
  }
}

/** The sealer of the main thread. A session has one. */
export function mainThreadSealer({ header, contentKey }: OpenSession): FrameSealer {
  return new FrameSealer({
    session: header.session,
    worker: 0,
    contentKey,
    binding: sessionBinding(header),
  });
}

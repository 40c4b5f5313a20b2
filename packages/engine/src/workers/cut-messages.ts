/**
 * What the pipeline and its cutting workers say to each other. A *job* is a bundle of small files or a stripe of a large
 * one. A worker reads and cuts it, portion by portion (a portion is one filled buffer), and keeps the portion's bytes
 * until the pipeline has said which blocks to take. The pipeline alone knows the catalog and gives out frame numbers and
 * slots; a worker knows bytes and keys, and nothing of the catalog.
 *
 *   pipeline → worker   open (session) · cut (job) · take (portion: blocks to append, frames to seal) · close
 *   worker → pipeline   portion · sealed (frame) · failed (job)
 *
 * Backpressure: a worker has a fixed number of buffers and cuts no further while all of them await `take`.
 */

import type { FileStat } from "../source/source.ts";
import type { PageShape } from "./cutter/page-files.ts";

/** Stored bytes of three kinds go to frames of their own: pages, what compresses, and what does not. */
export type FrameClass = "page" | "text" | "dense";

export const frameClasses: readonly FrameClass[] = ["page", "text", "dense"];

/** Plain block bytes in a frame. Pages change scattered, so their frames are small: restores read little besides. */
export const frameBytes = { page: 1024 * 1024, text: 2 * 1024 * 1024, dense: 2 * 1024 * 1024 } as const;

export interface WorkerSession {
  /** Names the session between a pool and its workers: session numbers of two vaults may be equal. */
  readonly route: number;
  readonly session: number;
  readonly worker: number;
  readonly key: Uint8Array;
  readonly binding: Uint8Array;
  readonly blockIdKey: Uint8Array;
  readonly cutterKey: Uint8Array;
  /** There is a snapshot before this one: what is new is little beside what is read. */
  readonly increment: boolean;
}

/** Bytes of a file: where they are and how many to read. `probe` asks whether it is a page file. */
export interface FileRange {
  readonly path: Uint8Array;
  readonly offset: number;
  readonly length: number;
  /** The file that the walk saw; absent where there was no walk. */
  readonly seen?: FileStat | undefined;
}

export type Job =
  | { readonly kind: "bundle"; readonly job: number; readonly files: readonly FileRange[] }
  | {
      readonly kind: "stripe";
      readonly job: number;
      readonly file: FileRange;
      /** Where the stripe starts in its file. A file in a spool starts anywhere, and is cut as in a folder all the same. */
      readonly at: number;
      readonly shape: PageShape | null;
    };

/** Blocks to append to a frame, and whether it is full then. */
export interface TakeOp {
  readonly frameClass: FrameClass;
  readonly n: number;
  /** Runs of the portion's blocks: the first, and how many. */
  readonly runs: Uint32Array;
  readonly seal: boolean;
}

export type ToWorker =
  | { readonly type: "open"; readonly session: WorkerSession }
  | { readonly type: "cut"; readonly route: number; readonly job: Job }
  | { readonly type: "take"; readonly route: number; readonly portion: number; readonly ops: readonly TakeOp[] }
  | { readonly type: "close"; readonly route: number };

/** How reading one file of a job ended. `changed`: it is not, or not for the whole time, the file that the walk saw. */
export interface FileOutcome {
  readonly blocks: number;
  readonly bytes: number;
  readonly error: string | null;
  readonly changed: boolean;
}

export interface Portion {
  readonly job: number;
  readonly portion: number;
  /** 16 bytes per block. */
  readonly ids: Uint8Array;
  readonly lengths: Uint32Array;
  readonly zeros: Uint8Array;
  /** Blocks per segment; a bundle is one segment. */
  readonly segments: Uint32Array;
  /** 32 bytes per segment. */
  readonly segmentIds: Uint8Array;
  /** Index into `frameClasses` per block. */
  readonly classes: Uint8Array;
  /** Of a bundle, one per file; of a stripe, one on its last portion. */
  readonly outcomes: readonly FileOutcome[];
  /** Of a bundle, 32 bytes per file: its hash. */
  readonly hashes: Uint8Array;
  readonly last: boolean;
}

export type FromWorker =
  | { readonly type: "portion"; readonly route: number; readonly portion: Portion }
  | {
      readonly type: "sealed";
      readonly route: number;
      readonly n: number;
      /** In the worker's outbox or memory of its own (`outbox.ts`), which whoever hears of it gives back. */
      readonly bytes: Uint8Array;
      readonly frameId: Uint8Array;
    }
  | { readonly type: "failed"; readonly route: number; readonly job: number; readonly message: string };

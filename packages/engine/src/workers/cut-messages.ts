/**
 * Messages between the main thread and the cutting workers.
 *
 * A *job* is a bundle of small files or a stripe of a large file. A worker reads and cuts a job portion by portion. A
 * *portion* is what one filled buffer was cut into. The worker keeps the portion's bytes until the main thread answers which
 * blocks are new and to which frames they are appended. Only the main thread uses the catalog and allocates frame numbers
 * and slots. A worker has bytes and keys.
 *
 *   main → worker   open (session) · cut (job) · append (portion: blocks to append, frames to seal) · close
 *   worker → main   portion · sealed (frame) · failed (job)
 *
 * Backpressure: a worker has a fixed number of buffers. It cuts no further while each of them waits for `append`.
 */

import type { FrameBuilderSession } from "../packing/frame-builder.ts";
import type { FrameAppend } from "../packing/frame-class.ts";
import type { FileStat } from "../source/source.ts";
import type { PageLayout } from "./cutter/page-files.ts";

export interface WorkerSession extends FrameBuilderSession {
  /** Which client of the pool this is. Session numbers are not enough: those of two vaults may be equal. */
  readonly clientId: number;
  readonly blockIdKey: Uint8Array;
  readonly cutterKey: Uint8Array;
  /** Of the upload's settings: how many portions may wait for answers. */
  readonly lookahead: number;
}

/** A range of bytes of a file. */
export interface FileRange {
  readonly path: Uint8Array;
  readonly offset: number;
  readonly length: number;
  /** The file's stat when the source was walked; absent if it was not walked. */
  readonly statAtWalk?: FileStat | undefined;
}

export type CutJob =
  | { readonly kind: "bundle"; readonly job: number; readonly files: readonly FileRange[] }
  | {
      readonly kind: "stripe";
      readonly job: number;
      readonly file: FileRange;
      /**
       * Where the stripe starts in its file. This is not `file.offset`: a file inside a spool starts anywhere, and must
       * be cut like the same file in a folder.
       */
      readonly at: number;
      readonly pageLayout: PageLayout | null;
    };

export type ToWorker =
  | { readonly type: "open"; readonly session: WorkerSession }
  | { readonly type: "cut"; readonly clientId: number; readonly job: CutJob }
  | {
      readonly type: "append";
      readonly clientId: number;
      readonly portion: number;
      readonly appends: readonly FrameAppend[];
    }
  | { readonly type: "close"; readonly clientId: number };

/** How reading one file of a job ended. `changed`: the file was replaced or written to after the walk. */
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
  /** 1 per block that is all zeros. */
  readonly zeros: Uint8Array;
  /** Blocks per segment; a bundle is one segment. */
  readonly segments: Uint32Array;
  /** 32 bytes per segment. */
  readonly segmentIds: Uint8Array;
  /** Index into `frameClasses` per block. */
  readonly classes: Uint8Array;
  /** One per file of a bundle; one on the last portion of a stripe. */
  readonly outcomes: readonly FileOutcome[];
  /** 32 bytes per file of a bundle: the file's hash. */
  readonly hashes: Uint8Array;
  readonly last: boolean;
}

export type FromWorker =
  | { readonly type: "portion"; readonly clientId: number; readonly portion: Portion }
  | {
      readonly type: "sealed";
      readonly clientId: number;
      readonly n: number;
      /** In a shared buffer (`packing/shared-frame-buffers.ts`) or in ordinary memory. The receiver must release it. */
      readonly bytes: Uint8Array;
      readonly frameId: Uint8Array;
    }
  | { readonly type: "failed"; readonly clientId: number; readonly job: number; readonly message: string };

/**
 * Where the files of a backup come from. A source is walked depth first, every directory's names in byte order, and
 * says what it sees as events. The pipeline needs nothing else, so a folder, a received archive or a test can be one.
 */

import type { EntryFacts } from "../trees/entry.ts";

/** Facts that tell whether a file changed, beyond what a tree keeps. */
export interface ChangeMarks {
  readonly inode: bigint;
  readonly ctimeNs: bigint;
}

export type SourceEvent =
  | { readonly type: "enter"; readonly path: Uint8Array; readonly facts: EntryFacts }
  | { readonly type: "leave" }
  | {
      readonly type: "file";
      readonly path: Uint8Array;
      readonly facts: EntryFacts;
      readonly size: number;
      readonly marks: ChangeMarks;
      /** Where its bytes are: mostly its own path from 0 on, or a part of a spooled archive. */
      readonly content: { readonly path: Uint8Array; readonly offset: number };
    }
  | { readonly type: "link"; readonly path: Uint8Array; readonly facts: EntryFacts; readonly target: Uint8Array }
  | { readonly type: "warning"; readonly path: Uint8Array; readonly code: string };

export interface BackupSource {
  /** The first event enters the root, the last one leaves it. */
  walk(): AsyncIterable<SourceEvent>;
}

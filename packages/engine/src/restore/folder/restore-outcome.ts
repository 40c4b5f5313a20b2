/** What a restore did: completed files, failures, and the state of the frames that it read. */

import type { FrameVersion } from "../../catalog/catalog.ts";

export interface RestoreFailure {
  readonly path: Uint8Array;
  readonly reason: string;
  /** `damage`: in the store. `file`: the file system of the target refused. */
  readonly kind: "damage" | "file";
  readonly pack: string | null;
}

export interface RestoreResult {
  /** Files that are complete in the target, and their bytes. */
  readonly files: number;
  readonly bytes: number;
  /** Of these, the files that were there: an interrupted attempt had completed them, or they were not to be replaced. */
  readonly skippedFiles: number;
  readonly skippedBytes: number;
  /** Bytes of replaced files that were not fetched, because the old files had them. */
  readonly reusedBytes: number;
  /** Entries that were deleted, because the snapshot does not have them. */
  readonly deleted: number;
  readonly failures: readonly RestoreFailure[];
  /** Frames that are damaged. The caller marks them in the catalog. */
  readonly damagedFrames: readonly FrameVersion[];
}

export class RestoreOutcome {
  readonly #onProgress: ((progress: { readonly files: number; readonly bytes: number }) => void) | undefined;
  readonly #failures: RestoreFailure[] = [];
  readonly #failedPaths = new Set<string>();
  readonly #damaged = new Map<number, FrameVersion>();
  /** Frames that were read although the catalog has them as damaged. */
  readonly #marked = new Map<number, FrameVersion>();
  #files = 0;
  #bytes = 0;
  #skippedFiles = 0;
  #skippedBytes = 0;
  reusedBytes = 0;
  deleted = 0;

  constructor(onProgress: ((progress: { readonly files: number; readonly bytes: number }) => void) | undefined) {
    this.#onProgress = onProgress;
  }

  addFile(bytes: number): void {
    this.#files++;
    this.#bytes += bytes;
  }

  /** A file that an interrupted attempt has completed. */
  addSkipped(bytes: number): void {
    this.addFile(bytes);
    this.#skippedFiles++;
    this.#skippedBytes += bytes;
  }

  addFailure(path: Uint8Array, kind: RestoreFailure["kind"], reason: string, pack: string | null): void {
    const own = Buffer.from(path);
    this.#failures.push({ path: own, kind, reason, pack });
    this.#failedPaths.add(own.toString("latin1"));
  }

  hasFailed(path: Buffer): boolean {
    return this.#failedPaths.has(path.toString("latin1"));
  }

  addDamagedFrame(version: FrameVersion): void {
    this.#damaged.set(version.frame, version);
  }

  /** A frame that has a damage mark and is going to be read. */
  addMarkedFrame(version: FrameVersion): void {
    this.#marked.set(version.frame, version);
  }

  /** Marked frames that this restore did not find damaged. */
  readableMarkedFrames(): readonly FrameVersion[] {
    return [...this.#marked.values()].filter(({ frame }) => !this.#damaged.has(frame));
  }

  reportProgress(): void {
    this.#onProgress?.({ files: this.#files, bytes: this.#bytes });
  }

  result(): RestoreResult {
    return {
      files: this.#files,
      bytes: this.#bytes,
      skippedFiles: this.#skippedFiles,
      skippedBytes: this.#skippedBytes,
      reusedBytes: this.reusedBytes,
      deleted: this.deleted,
      failures: this.#failures,
      damagedFrames: [...this.#damaged.values()],
    };
  }
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

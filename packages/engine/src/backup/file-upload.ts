/**
 * An upload that stores single files and makes no snapshot. Files come one by one, each is durable when it is acknowledged, and
 * the snapshot is made later, by another upload and maybe another process, from what was recorded of them
 * (`source/stored-file.ts`). The items and packs are held by this upload until it ends.
 *
 * A small file is a segment by itself, so the same file is found again whatever came beside it. The snapshot bundles small
 * files as every backup does (`Upload.join`).
 */

import type { EngineContext } from "../context.ts";
import { startSession } from "../format/session-header.ts";
import type { WriterKeys } from "../format/vault-keys.ts";
import type { Writer } from "../format/writer-registration.ts";
import type { ContentPlace } from "../source/source.ts";
import type { StoredPart } from "../source/stored-file.ts";
import type { CutWorkerPool } from "../workers/cut-worker-pool.ts";
import { stripeBytes } from "../workers/cutter/cut-limits.ts";
import type { PageLayout } from "../workers/cutter/page-files.ts";
import { probeBytes } from "../workers/cutter/page-files.ts";
import { bundledBelowBytes } from "./bundles.ts";
import { LazyUpload } from "./lazy-upload.ts";
import { readPageLayout } from "./read-page-layout.ts";
import type { UploadSettings } from "./upload-settings.ts";
import type { UploadTarget } from "./upload-target.ts";

export { stripeBytes };

export interface FileUploadOptions {
  readonly ctx: EngineContext;
  readonly keys: WriterKeys;
  readonly signer: Writer;
  readonly target: UploadTarget;
  readonly pool: CutWorkerPool;
  readonly settings?: Partial<UploadSettings> | undefined;
}

/** Bytes of a file: a whole file, or one stripe of it. */
export interface FilePart {
  readonly content: ContentPlace;
  readonly length: number;
  /** Where the part begins in the file: a multiple of {@link stripeBytes}. */
  readonly at: number;
  /** Whether the file ends with it. Every other part has {@link stripeBytes}. */
  readonly isLast: boolean;
  /** Of the file's first part. Not used for the first part itself. */
  readonly pageLayout: PageLayout | null;
}

export interface CutPart {
  readonly part: StoredPart;
  readonly pageLayout: PageLayout | null;
}

export class FileUpload {
  readonly #upload: LazyUpload;

  private constructor(upload: LazyUpload) {
    this.#upload = upload;
  }

  /** Begins the upload. */
  static async begin(options: FileUploadOptions): Promise<FileUpload> {
    const start = await options.target.begin(null);
    const session = startSession(options.ctx, options.keys, options.signer, start);
    return new FileUpload(new LazyUpload({ ...options, session, hasBase: false, ordinals: start.ordinals }));
  }

  /** Cuts a part. It is durable when `flush` was called afterwards and has resolved. */
  async cut({ content, length, at, isLast, pageLayout }: FilePart): Promise<CutPart> {
    const file = { ...content, length };
    if (at === 0 && isLast && length < bundledBelowBytes) {
      const { done } = await this.#upload.cut({ kind: "bundle", files: [file], oldSegmentsAt: () => [] });
      const { parts, segments } = await done;
      const [[part], [segment]] = [parts, segments];
      if (part === undefined || part.error !== null || part.bytes !== length || segment === undefined)
        throw new UnreadablePartError(part?.error ?? "changed");
      const { hash, ids, lengths } = part;
      const blocks = { ids: Buffer.from(ids), lengths: Uint32Array.from(lengths) };
      return { part: { kind: "blocks", ordinal: segment.ordinal, hash, ...blocks }, pageLayout: null };
    }
    const layout = at === 0 ? readPageLayout(content, length, Buffer.allocUnsafe(probeBytes)) : pageLayout;
    const { done } = await this.#upload.cut({
      ...{ kind: "stripe", file, at, pageLayout: layout },
      oldSegmentsAt: () => [],
    });
    const { segments, outcome } = await done;
    if (outcome?.error !== null || outcome.bytes !== length) throw new UnreadablePartError(outcome?.error ?? "changed");
    return { part: { kind: "segments", segments }, pageLayout: layout };
  }

  /** Makes everything durable that was cut. Nothing may be cut meanwhile. */
  flush(): Promise<void> {
    return this.#upload.finish();
  }

  /** Releases what is in memory. What was stored stays held in the catalog until the upload ends there. */
  close(): Promise<void> {
    return this.#upload.close();
  }
}

/** The spool does not have the bytes that were written to it. */
export class UnreadablePartError extends Error {
  override readonly name = "UnreadablePartError";

  constructor(code: string) {
    super(`a part cannot be read: ${code}`);
  }
}

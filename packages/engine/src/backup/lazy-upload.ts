/**
 * An upload that is created when something must be stored. A backup that finds nothing changed stores nothing. It then
 * starts no worker and does not load the code for packs.
 */

import type { NodeSink } from "../format/tree-builder.ts";
import type { Reference } from "../format/tree-entry.ts";
import { nodeKeyOf } from "../format/vault-keys.ts";
import type { StoredBlocks } from "../source/stored-file.ts";
import type { CutResult, JobPlan } from "../workers/cut-job-queue.ts";
import type { Upload, UploadOptions } from "./upload.ts";
import type { UploadSettings } from "./upload-settings.ts";
import { defaultUploadSettings } from "./upload-settings.ts";

export interface LazyUploadOptions extends Omit<UploadOptions, "settings"> {
  readonly settings?: Partial<UploadSettings> | undefined;
  /** Called before anything is stored; resolves, when it may be, to a function that is called at the end. */
  readonly waitToStore?: (() => Promise<() => void>) | undefined;
}

export class LazyUpload implements NodeSink {
  readonly #options: LazyUploadOptions;
  readonly nodeKey: Uint8Array;
  #opening: Promise<Upload> | null = null;
  #upload: Upload | null = null;
  #closed = false;
  #endStoring = () => {};

  constructor(options: LazyUploadOptions) {
    this.#options = options;
    this.nodeKey = nodeKeyOf(options.keys);
  }

  get storedBytes(): number {
    return this.#upload?.storedBytes ?? 0;
  }

  async cut(plan: JobPlan): Promise<{ readonly done: Promise<CutResult> }> {
    return (this.#upload ?? (await this.#open())).cut(plan);
  }

  async join(files: readonly StoredBlocks[]): Promise<Reference> {
    return (this.#upload ?? (await this.#open())).join(files);
  }

  isNewOrdinal(ordinal: number): boolean {
    return this.#upload?.isNewOrdinal(ordinal) ?? false;
  }

  putNode(id: Uint8Array, bytes: Uint8Array, isNew: boolean): Promise<number> | number {
    if (this.#upload !== null) return this.#upload.putNode(id, bytes, isNew);
    // The caller keeps the bytes valid until this resolves, so they can wait for the upload.
    return this.#open().then((upload) => upload.putNode(id, bytes, isNew));
  }

  async finish(): Promise<void> {
    if (this.#opening !== null) await (await this.#opening).finish();
  }

  /** Ends all jobs with this error. */
  fail(error: unknown): void {
    this.#upload?.fail(error);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#upload?.close();
    this.#end();
  }

  #end(): void {
    const end = this.#endStoring;
    this.#endStoring = () => {};
    end();
  }

  #open(): Promise<Upload> {
    this.#opening ??= this.#create();
    return this.#opening;
  }

  async #create(): Promise<Upload> {
    const { settings, waitToStore } = this.#options;
    if (waitToStore !== undefined) this.#endStoring = await waitToStore();
    const { Upload: UploadClass } = await import("./upload.ts");
    if (this.#closed) {
      this.#end();
      throw new Error("the upload was closed before it was created");
    }
    this.#upload = new UploadClass({ ...this.#options, settings: { ...defaultUploadSettings, ...settings } });
    return this.#upload;
  }
}

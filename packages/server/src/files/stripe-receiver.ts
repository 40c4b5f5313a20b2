/** Collects the bytes of a file in the spool, and stores each stripe when it is full. */

import { type CutPart, type FilePart, type StoredPart, stripeBytes } from "@emanet/engine";
import type { Ctx } from "../kernel/http/endpoint.ts";
import type { SnapshotRecord } from "../snapshots/index.ts";

/** So often a request that waits for its content to be stored tells the kernel that it is not stuck. */
const waitingBeatMs = 5_000;

type SpoolFile = Awaited<ReturnType<Ctx["services"]["snapshots"]["spool"]["create"]>>;

export interface StripeReceiverOptions {
  readonly ctx: Ctx;
  readonly record: SnapshotRecord;
  /** Bytes of the file in stripes that were stored before. */
  readonly storedBytes: number;
  /** Of the first stripe, where it was stored before. */
  readonly pageLayout: FilePart["pageLayout"];
  /** A full stripe is durable, which ends so many bytes from the start of the file. */
  readonly onStripe: (stripe: CutPart, storedBytes: number) => Promise<void>;
}

export class StripeReceiver {
  readonly #options: StripeReceiverOptions;
  #file: SpoolFile | null = null;
  #pageLayout: FilePart["pageLayout"];
  /** Bytes of the file in stripes that are stored. */
  storedBytes: number;

  constructor(options: StripeReceiverOptions) {
    this.#options = options;
    this.#pageLayout = options.pageLayout;
    this.storedBytes = options.storedBytes;
  }

  /** Bytes of the file that came so far. */
  get size(): number {
    return this.storedBytes + (this.#file?.size ?? 0);
  }

  async append(chunk: Buffer): Promise<void> {
    const { ctx, record, onStripe } = this.#options;
    for (let rest = chunk; rest.length > 0; ) {
      this.#file ??= await ctx.services.snapshots.spool.create(record.account_id, "part");
      const taken = rest.subarray(0, stripeBytes - this.#file.size);
      await this.#file.append(taken);
      rest = rest.subarray(taken.length);
      if (this.#file.size < stripeBytes) continue;
      const cut = await this.#store(this.#file, false);
      this.#pageLayout = cut.pageLayout;
      this.storedBytes += stripeBytes;
      await this.remove();
      await onStripe(cut, this.storedBytes);
    }
  }

  /** Stores what came after the last full stripe, as if the file ended with it; null if nothing did. */
  async storeRest(): Promise<StoredPart | null> {
    return this.#file === null ? null : (await this.#store(this.#file, true)).part;
  }

  /** Removes what is in the spool. */
  async remove(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.remove();
  }

  async #store(file: SpoolFile, isLast: boolean): Promise<CutPart> {
    const { ctx, record } = this.#options;
    await file.flush();
    const content = { path: Buffer.from(file.path), offset: 0 };
    const part = { content, length: file.size, at: this.storedBytes, isLast, pageLayout: this.#pageLayout };
    const waiting = setInterval(() => ctx.progressed(), waitingBeatMs);
    try {
      return await ctx.services.files.store(record, part);
    } finally {
      clearInterval(waiting);
    }
  }
}

/**
 * Restores files window by window. Files are added until a window is full. Then the window is planned, while the window
 * before it is still being written, and its frames are fetched and given to the workers.
 */

import { renameSync } from "node:fs";
import { asBuffer } from "../../format/bytes.ts";
import type { ReadPort } from "../read-port.ts";
import type { WindowPlan } from "../window.ts";
import { firstWindowBlocks, maxWindowBlocks, maxWindowFiles, planWindow } from "../window.ts";
import {
  makeFileWithoutBlocks,
  removePartialFile,
  restoredAttributes,
  restoreOwner,
  setAttributes,
} from "./file-attributes.ts";
import type { FileFailure, FrameFetcherOptions, WrittenWindow } from "./frame-fetcher.ts";
import { FrameFetcher } from "./frame-fetcher.ts";
import type { ReplacingFile } from "./old-blocks.ts";
import { takeOldBlocks } from "./old-blocks.ts";
import type { RestoreOutcome } from "./restore-outcome.ts";
import { errorMessage } from "./restore-outcome.ts";

/** An estimate of the size of a block, used only to limit a window. */
const estimatedBlockBytes = 8192;

export interface WindowRestorerOptions extends Omit<FrameFetcherOptions, "attributesOf"> {
  readonly port: ReadPort;
  readonly outcome: RestoreOutcome;
  /** Restore the owners of files. */
  readonly owners: boolean;
}

export class WindowRestorer {
  readonly #options: WindowRestorerOptions;
  readonly #fetcher: FrameFetcher;
  #window: ReplacingFile[] = [];
  #windowBlocks = 0;
  #maxBlocks = firstWindowBlocks;
  /** The window whose frames are being given to workers while the next one is planned. */
  #started: ReturnType<FrameFetcher["start"]> | null = null;
  /** Files that are there already, byte for byte. They stay, so that their other names stay the same file. */
  readonly #same = new WeakSet<ReplacingFile>();
  /** Resolves when all windows that were started are complete. */
  #writing: Promise<void> = Promise.resolve();

  constructor(options: WindowRestorerOptions) {
    this.#options = options;
    this.#fetcher = new FrameFetcher({
      ...options,
      attributesOf: ({ entry }, endsInHole) => ({
        ...restoredAttributes(entry, options.owners),
        size: endsInHole ? entry.size : null,
      }),
    });
  }

  async add(file: ReplacingFile): Promise<void> {
    this.#window.push(file);
    this.#windowBlocks += Math.ceil(file.entry.size / estimatedBlockBytes);
    if (this.#window.length >= maxWindowFiles || this.#windowBlocks >= this.#maxBlocks) await this.#startWindow();
  }

  /** Restores what was added and waits until every file is complete. */
  async finish(): Promise<void> {
    await this.#startWindow();
    await this.#writing;
  }

  /** Plans the window while the one before is being written, then gives it to the workers. */
  async #startWindow(): Promise<void> {
    const files = this.#window;
    this.#window = [];
    this.#windowBlocks = 0;
    this.#maxBlocks = maxWindowBlocks;
    if (files.length === 0) return;
    const plan = await this.#plan(files);
    await this.#started;
    const started = this.#fetcher.start(plan, files);
    this.#started = started;
    this.#writing = Promise.all([started, this.#writing]).then(([{ written }]) =>
      this.#completeWindow(files, plan, written),
    );
    // Both promises are awaited later. This handler only keeps Node from reporting an unhandled rejection before that.
    this.#writing.catch(() => undefined);
  }

  async #plan(files: readonly ReplacingFile[]): Promise<WindowPlan> {
    const { port, outcome } = this.#options;
    const { blockIdKey } = port.keys;
    const { plan, bytes, same } = takeOldBlocks(await planWindow(port, blockIdKey, files), files, blockIdKey);
    outcome.reusedBytes += bytes;
    for (const file of same) this.#same.add(file);
    for (const { row } of plan.frames) if (row.damaged) outcome.addMarkedFrame(row);
    return plan;
  }

  async #completeWindow(
    files: readonly ReplacingFile[],
    plan: WindowPlan,
    written: Promise<WrittenWindow>,
  ): Promise<void> {
    const { outcome } = this.#options;
    const first = await written;
    await this.#markVerified(plan, first);
    // Repack may have moved blocks, and prune deleted their old frames, since this window was planned. So files that
    // look damaged are planned a second time. Only what fails again is damaged.
    const toRetry = files.filter((_, i) => first.failed.get(i)?.kind === "damage");
    const second = toRetry.length === 0 ? null : await this.#restoreAgain(toRetry);
    const secondIndex = new Map(toRetry.map((file, i) => [file, i]));
    for (const [i, file] of files.entries()) {
      const at = secondIndex.get(file) ?? i;
      const { failed, withoutBlocks } = secondIndex.has(file) && second !== null ? second : first;
      this.#completeFile(file, withoutBlocks.has(at), failed.get(at) ?? null);
    }
    for (const version of second?.damaged.values() ?? []) outcome.addDamagedFrame(version);
    outcome.reportProgress();
  }

  /** Segments of which every block was read back and hashed are verified from now on. */
  async #markVerified({ unverified }: WindowPlan, { failed, impure }: WrittenWindow): Promise<void> {
    const verified = unverified
      .filter(({ frames }) => frames.isDisjointFrom(impure))
      .filter(({ fileSets }) => fileSets.some((files) => files.every((file) => !failed.has(file))));
    if (verified.length > 0) await this.#options.port.reportVerified(verified.map(({ ordinal }) => ordinal));
  }

  async #restoreAgain(files: readonly ReplacingFile[]): Promise<WrittenWindow> {
    const { written } = await this.#fetcher.start(await this.#plan(files), files);
    return written;
  }

  /** Counts a file, or removes it if it failed. A worker has written it and set mode and time, unless it has no stored block. */
  #completeFile(file: ReplacingFile, withoutBlocks: boolean, failure: FileFailure | null): void {
    const { outcome, owners } = this.#options;
    const { entry } = file;
    const path = asBuffer(file.path);
    const shown = file.replaces ?? path;
    if (failure !== null) {
      outcome.addFailure(shown, failure.kind, `${failure.reason}${removePartialFile(path)}`, failure.pack);
      return;
    }
    try {
      if (file.replaces !== undefined && this.#same.has(file)) {
        removePartialFile(path);
        setAttributes(file.replaces, entry, owners);
        outcome.addSkipped(entry.size);
        return;
      }
      if (withoutBlocks) makeFileWithoutBlocks(path, { ...restoredAttributes(entry, owners), size: entry.size });
      if (owners) restoreOwner(path, entry);
      if (file.replaces !== undefined) renameSync(path, file.replaces);
      outcome.addFile(entry.size);
    } catch (error) {
      outcome.addFailure(shown, "file", errorMessage(error), null);
    }
  }
}

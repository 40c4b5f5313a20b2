/** The running uploads of the catalog in memory: leases, reserved ordinals, numbers of registered units. */

import { Bitmap } from "../format/bitmap.ts";
import type { NewUpload, OrdinalRange, UploadScope, UploadState } from "./catalog.ts";
import { CatalogError } from "./catalog.ts";
import { assertSameUpload } from "./rules.ts";

export interface RunningUpload {
  readonly owner: string;
  readonly scope: UploadScope;
  readonly session: number;
  readonly nonce: number;
  readonly reach: Uint8Array;
  /** By the number of the request. */
  readonly ordinals: Map<number, OrdinalRange>;
  /** The ordinals of the items that it has acquired or registered. */
  readonly held: Bitmap;
  /** The numbers of the units that are registered. */
  readonly units: Set<number>;
  leaseUntil: number;
}

export class MemoryUploads {
  readonly #uploads = new Map<string, RunningUpload>();

  /** Adds an upload, unless it is running already. `start` draws its numbers. */
  begin(begun: NewUpload, start: () => Pick<RunningUpload, "session" | "nonce" | "reach">): RunningUpload {
    const { upload, owner, leaseUntil, scope = "vault" } = begun;
    const known = this.#uploads.get(upload);
    if (known !== undefined) {
      assertSameUpload(upload, known.owner, begun);
      return known;
    }
    const running = {
      ...start(),
      owner,
      scope,
      leaseUntil,
      ordinals: new Map(),
      held: new Bitmap(),
      units: new Set<number>(),
    };
    this.#uploads.set(upload, running);
    return running;
  }

  state(upload: string): UploadState | null {
    const running = this.#uploads.get(upload);
    if (running === undefined) return null;
    const { owner, scope, session, nonce, leaseUntil, ordinals } = running;
    return { owner, scope, session, nonce, leaseUntil, ordinals: [...ordinals.values()] };
  }

  get(upload: string): RunningUpload {
    const running = this.#uploads.get(upload);
    if (running === undefined) throw new CatalogError("unknown_upload", upload);
    return running;
  }

  /** An upload whose lease has not ended. */
  running(upload: string, now: number): RunningUpload {
    const running = this.get(upload);
    if (running.leaseUntil <= now) throw new CatalogError("lease_expired", upload);
    return running;
  }

  /** The uploads whose lease has ended. */
  expired(now: number): string[] {
    return [...this.#uploads].filter(([, { leaseUntil }]) => leaseUntil <= now).map(([upload]) => upload);
  }

  names(): string[] {
    return [...this.#uploads.keys()];
  }

  all(): RunningUpload[] {
    return [...this.#uploads.values()];
  }

  delete(upload: string): void {
    this.#uploads.delete(upload);
  }

  clear(): void {
    this.#uploads.clear();
  }
}

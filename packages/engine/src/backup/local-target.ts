/**
 * The target of a backup in the same process as the catalog and the object store: local repositories, tools, and the
 * service's own pipeline. Renews the upload's lease by the clock for as long as the backup runs: a walk that finds nothing new
 * asks nothing for hours, nor does a pack on a slow line.
 *
 * What matches blocks and registers units is loaded with the first of them: most backups of a quiet day have none.
 */

import type { Retention, SnapshotRow, UploadStart, UploadUnit } from "../catalog/catalog.ts";
import { CatalogError } from "../catalog/catalog.ts";
import { beginClaimed } from "../catalog/session-claims.ts";
import { Bitmap } from "../format/bitmap.ts";
import { FormatError, sameBytes } from "../format/bytes.ts";
import type { SnapshotDraft } from "../format/manifest.ts";
import { countersign, draftHeader, openDraft } from "../format/manifest.ts";
import type { Signer } from "../format/signing.ts";
import { decodeRegistration, registryOf } from "../format/writer-registration.ts";
import type { VaultAccess } from "../vault.ts";
import type { Matcher } from "./matcher.ts";
import type { SegmentMatch, SegmentQuery, UploadTarget } from "./upload-target.ts";

/** How long an upload may be silent. A crashed backup's pins go after this. */
export const uploadLeaseMs = 60 * 60_000;

/** Often enough that several renewals may fail: a busy catalog, a machine that was asleep for a while. */
const renewEveryMs = uploadLeaseMs / 6;

/** Calls `work` again and again; returns what ends it. */
export type Repeat = (everyMs: number, work: () => void) => () => void;

export interface LocalTargetOptions {
  readonly access: VaultAccess & { readonly keys: { readonly vaultId: Uint8Array } };
  readonly upload: string;
  readonly owner: string;
  /** Whoever countersigns manifests. */
  readonly authority: Signer;
  /** Decides on the retention that a writer asks for. Without it the writer is the owner, and gets what it asks for. */
  readonly grant?: ((asked: Retention) => Retention) | undefined;
  /**
   * Tries frames again that are marked as damaged, before anything is answered: what they hold would be sent once more.
   * Left out where no key is at hand to open them.
   */
  readonly recheck?: (() => Promise<unknown>) | undefined;
  /** The system's timer where left out. */
  readonly repeat?: Repeat | undefined;
}

export class LocalTarget implements UploadTarget {
  readonly #options: LocalTargetOptions;
  #matcher: Matcher | null = null;
  readonly #ordinals: [number, number][] = [];
  #stopRenewing: () => void = () => {};
  #start: UploadStart | null = null;

  constructor(options: LocalTargetOptions) {
    this.#options = options;
  }

  async begin(base: string | null): Promise<UploadStart> {
    const { access, upload, owner, recheck } = this.#options;
    await access.catalog.expireUploads(access.ctx.now());
    if (recheck !== undefined && (await access.catalog.damagedFrames()).length > 0) await recheck();
    const leaseUntil = access.ctx.now() + uploadLeaseMs;
    this.#start = await beginClaimed(access, { upload, owner, leaseUntil, base });
    this.#stopRenewing = (this.#options.repeat ?? byTimer)(renewEveryMs, () => {
      // One that is over is heard of when the snapshot is completed.
      this.#renew().catch(() => undefined);
    });
    return this.#start;
  }

  async reserveOrdinals(count: number): Promise<number> {
    const first = await this.#options.access.catalog.reserveOrdinals(count);
    const last = this.#ordinals.at(-1);
    // Mostly one range goes on where the one before ended.
    if (last?.[1] === first) last[1] = first + count;
    else this.#ordinals.push([first, first + count]);
    return first;
  }

  async acquire(ids: readonly Uint8Array[]): Promise<readonly (number | null)[]> {
    const { access, upload } = this.#options;
    const items = await access.catalog.acquire(upload, ids);
    return items.map((item) => item?.ordinal ?? null);
  }

  async match(queries: readonly SegmentQuery[]): Promise<readonly SegmentMatch[]> {
    const matcher = this.#matcher ?? (await this.#openMatcher());
    const matches: SegmentMatch[] = [];
    for (const query of queries) matches.push(await matcher.match(query));
    return matches;
  }

  remember(ordinal: number, relative: number): void {
    this.#matcher?.remember(ordinal, relative);
  }

  async #openMatcher(): Promise<Matcher> {
    const { Matcher: Opened } = await import("./matcher.ts");
    const { access, upload, owner } = this.#options;
    this.#matcher ??= new Opened({ catalog: access.catalog, upload, owner });
    return this.#matcher;
  }

  async putPack(name: string, body: AsyncIterable<Uint8Array>): Promise<void> {
    const { store, names } = this.#options.access;
    await store.put(names.pack(name), body);
  }

  async register(unit: UploadUnit): Promise<void> {
    const { access, upload, owner } = this.#options;
    if (this.#start === null) throw new Error("a unit before the upload began");
    const { checkUnit } = await import("./check-unit.ts");
    const bounds = { ...this.#start, owner, ordinals: this.#ordinals };
    await access.catalog.addUnit(upload, access.ctx.now(), checkUnit(unit, bounds));
  }

  async complete(draft: SnapshotDraft): Promise<SnapshotRow> {
    const { access, upload, authority, grant } = this.#options;
    const accepted = { at: access.ctx.now(), retention: (grant ?? asAsked)(draft.row.retention) };
    const row = { ...(await this.#read(draft)), completedAt: accepted.at, retention: accepted.retention };
    // With a fresh lease nobody takes the upload for dead between the manifest and its row.
    await this.#renew();
    const name = access.names.manifest(row.id);
    await access.store.put(name, countersign(authority, draft.manifest, accepted), { ifAbsent: true });
    try {
      await access.catalog.commit(upload, access.ctx.now(), row);
    } catch (error) {
      // The upload still lives, so nobody has adopted the manifest: it goes, lest rebuild bring back what was refused.
      if (error instanceof CatalogError && error.code === "not_closed") await access.store.delete(name);
      throw error;
    } finally {
      this.#stopRenewing();
    }
    return row;
  }

  /** The row that a draft's manifest stands for; nothing of it is taken from beside the manifest but the private name. */
  async #read({ manifest, row: { id, source } }: SnapshotDraft): Promise<SnapshotRow> {
    const { access, authority } = this.#options;
    const { vaultId } = access.keys;
    const expected = { snapshot: id, vaultId };
    const { writerId } = draftHeader(manifest);
    const registration = await access.store.get(access.names.writer(writerId));
    const writers = registryOf([decodeRegistration(registration, vaultId, authority.publicKey)]);
    const { header, row } = openDraft(manifest, expected, writers);
    if (header.session !== this.#start?.session || header.nonce !== this.#start.nonce)
      throw new FormatError("a manifest of another session than the upload's");
    const known = await access.catalog.session(header.session);
    if (known !== null && !sameBytes(known.header, header.bytes))
      throw new FormatError("a manifest under another session header than the packs");
    // No ordinal beyond those given out: a bitmap that claims more is not even unpacked.
    Bitmap.decode(row.reach, await access.catalog.reserveOrdinals(0));
    return { ...row, source, status: "completed" };
  }

  async abandon(): Promise<void> {
    this.#stopRenewing();
    await this.#options.access.catalog.endUpload(this.#options.upload);
  }

  async #renew(): Promise<void> {
    const { access, upload } = this.#options;
    const now = access.ctx.now();
    await access.catalog.renewUpload(upload, now, now + uploadLeaseMs);
  }
}

/** A timer that keeps no process alive. */
function byTimer(everyMs: number, work: () => void): () => void {
  const timer = setInterval(work, everyMs).unref();
  return () => clearInterval(timer);
}

const asAsked = (asked: Retention) => asked;

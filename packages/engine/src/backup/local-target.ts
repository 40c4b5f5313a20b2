/**
 * The upload target with the catalog and the object store in the same process: local repositories, tools, and the service
 * itself. It keeps caches and no state: two objects over one catalog and store can answer the calls of an upload in turn.
 *
 * The code that matches blocks and registers units is loaded when it is first needed. A backup that finds nothing changed
 * never needs it.
 */

import type {
  OrdinalRange,
  Retention,
  SnapshotRow,
  UploadScope,
  UploadStart,
  UploadState,
} from "../catalog/catalog.ts";
import { CatalogError } from "../catalog/catalog.ts";
import { assertNewestEpoch, assertNotRevoked, beginClaimedUpload } from "../catalog/claim-session.ts";
import { FormatError, sameBytes } from "../format/bytes.ts";
import { blockIdLength, idLength } from "../format/hash.ts";
import type { SnapshotDraft } from "../format/manifest.ts";
import { draftHeader } from "../format/manifest.ts";
import type { SessionHeader } from "../format/session-header.ts";
import type { Signer } from "../format/signing.ts";
import type { VaultAccess } from "../vault.ts";
import type { Completion } from "./complete-upload.ts";
import { completeUpload, findCompleted } from "./complete-upload.ts";
import type { Matcher } from "./matcher.ts";
import { maxOrdinalBatch } from "./ordinal-reserve.ts";
import type { ClientUnit, SegmentAnswer, SegmentQuery, UploadTarget } from "./upload-target.ts";
import { maxNodesPerOffer, maxSegmentsPerOffer, uploadLeaseMs } from "./upload-target.ts";

/** Ordinals that an upload gets at its beginning: enough for one changed file and its folders. */
const firstOrdinals = 32;

/** Ordinals that one request may reserve: what a client asks for at most. Bitmaps have a bit for each, also if it is never used. */
const maxOrdinalsPerRequest = maxOrdinalBatch;

export interface LocalTargetOptions {
  readonly access: VaultAccess & { readonly keys: { readonly vaultId: Uint8Array } };
  /** Drawn by the client: random, so that no other upload has it. */
  readonly upload: string;
  readonly owner: string;
  /** What the upload is told of other clients' content; `vault` if absent. */
  readonly scope?: UploadScope | undefined;
  /** The only writer whose packs and manifest the upload takes. If absent, every registered writer may. */
  readonly writerId?: Uint8Array | undefined;
  /** How long the upload lives without a renewal; {@link uploadLeaseMs} if absent. */
  readonly leaseMs?: number | undefined;
  /** Accepts manifests: signs them after the writer. */
  readonly authority: Signer;
  /** Returns the retention that a snapshot gets when its writer requests one. If absent, it gets what is requested. */
  readonly decideRetention?: ((requested: Retention) => Retention) | undefined;
  /**
   * Checks frames that are marked as damaged again before the upload begins, because blocks in damaged frames are stored
   * again. Absent if there is no key to open frames.
   */
  readonly recheck?: (() => Promise<unknown>) | undefined;
}

export class LocalTarget implements UploadTarget {
  readonly #options: LocalTargetOptions;
  #matcher: Matcher | null = null;

  constructor(options: LocalTargetOptions) {
    this.#options = options;
  }

  async begin(base: string | null): Promise<UploadStart> {
    const { access, upload, owner, scope, authority, recheck, leaseMs = uploadLeaseMs } = this.#options;
    // A matcher of an earlier upload with this id would take frames for pinned.
    this.#matcher = null;
    const [damaged] = await Promise.all([
      recheck === undefined ? [] : access.catalog.damagedFrames(),
      access.catalog.expireUploads(access.ctx.now()),
    ]);
    if (damaged.length > 0) await recheck?.();
    const leaseUntil = access.ctx.now() + leaseMs;
    const keys = { vaultId: access.keys.vaultId, authorityPublicKey: authority.publicKey };
    return beginClaimedUpload({ ...access, keys }, { upload, owner, leaseUntil, base, scope, ordinals: firstOrdinals });
  }

  async reserveOrdinals(request: number, count: number): Promise<OrdinalRange> {
    const { access, upload } = this.#options;
    await this.#running();
    const isAllowed = Number.isSafeInteger(request) && request > 0 && Number.isSafeInteger(count) && count > 0;
    if (!isAllowed || count > maxOrdinalsPerRequest) throw new FormatError("not a request for ordinals");
    const first = await access.catalog.reserveOrdinals(count, { upload, request });
    return { first, end: first + count };
  }

  async offer(queries: readonly SegmentQuery[]): Promise<readonly SegmentAnswer[]> {
    const { access, upload } = this.#options;
    const state = await this.#running();
    checkQueries(queries);
    const items = await access.catalog.acquire(
      upload,
      queries.map(({ id }) => id),
    );
    const matcher = this.#matcher ?? (await this.#loadMatcher(state));
    return matcher.match(queries, items);
  }

  async offerNodes(ids: readonly Uint8Array[]): Promise<readonly (number | null)[]> {
    const { access, upload } = this.#options;
    await this.#running();
    if (ids.length > maxNodesPerOffer) throw new FormatError("too many nodes in one call");
    const items = await access.catalog.acquire(upload, ids);
    return items.map((item) => item?.ordinal ?? null);
  }

  async putPack(name: string, body: AsyncIterable<Uint8Array>): Promise<void> {
    const { access, upload } = this.#options;
    const { store, names, catalog } = access;
    const { assertPackName, putPackOnce } = await import("./stored-pack.ts");
    assertPackName(name);
    await putPackOnce(store, names.pack(name), body, await this.#running());
    // The upload may have ended while the body was read. No pack may be added to a session that has ended.
    if ((await this.#find()) !== null || (await catalog.packs([name]))[0] !== null) return;
    await store.delete(names.pack(name));
    throw new CatalogError("unknown_upload", upload);
  }

  async register(unit: ClientUnit): Promise<void> {
    const { access, upload, authority } = this.#options;
    const { checkUnit } = await import("./check-unit.ts");
    const { readStoredPacks } = await import("./stored-pack.ts");
    const state = await this.#running();
    const identity = { vaultId: access.keys.vaultId, authorityPublicKey: authority.publicKey };
    const packs = await readStoredPacks(access, unit.packs, identity);
    for (const { header } of packs.slice(0, 1)) {
      this.#assertWriter(header);
      await Promise.all([assertNotRevoked(access.catalog, header), assertNewestEpoch(access.catalog, header.epoch)]);
    }
    await access.catalog.addUnit(upload, access.ctx.now(), checkUnit(unit, packs, state), unit.number);
  }

  async renew(): Promise<void> {
    await this.#running();
    await this.#extend();
  }

  /** Rejects if the lease has ended. */
  async #extend(): Promise<void> {
    const { access, upload, leaseMs = uploadLeaseMs } = this.#options;
    const now = access.ctx.now();
    await access.catalog.renewUpload(upload, now, now + leaseMs);
  }

  async complete(draft: SnapshotDraft): Promise<SnapshotRow> {
    const { access, upload, authority, decideRetention = asRequested } = this.#options;
    const completion: Completion = { access, upload, authority, decideRetention };
    this.#assertWriter(draftHeader(draft.manifest));
    const state = await this.#find();
    if (state === null) return findCompleted(completion, draft);
    try {
      // With a fresh lease the upload does not expire between the manifest and its row.
      await this.#extend();
    } catch (error) {
      // Another process has completed it meanwhile.
      if (error instanceof CatalogError && error.code === "unknown_upload") return findCompleted(completion, draft);
      throw error;
    }
    return completeUpload(completion, state, draft);
  }

  async abandon(): Promise<void> {
    const { access, upload } = this.#options;
    if ((await this.#find()) !== null) await access.catalog.endUpload(upload);
  }

  #assertWriter({ writerId }: Pick<SessionHeader, "writerId">): void {
    const { writerId: expected } = this.#options;
    if (expected !== undefined && !sameBytes(writerId, expected))
      throw new FormatError("the session is of another writer than the upload");
  }

  /** The upload, if it is running and of this owner. */
  async #find(): Promise<UploadState | null> {
    const { access, upload, owner } = this.#options;
    const state = await access.catalog.uploadState(upload);
    return state?.owner === owner ? state : null;
  }

  async #running(): Promise<UploadState> {
    const { access, upload } = this.#options;
    const state = await this.#find();
    if (state === null) throw new CatalogError("unknown_upload", upload);
    if (state.leaseUntil <= access.ctx.now()) throw new CatalogError("lease_expired", upload);
    return state;
  }

  async #loadMatcher({ owner, scope }: UploadState): Promise<Matcher> {
    const { Matcher: MatcherClass } = await import("./matcher.ts");
    const { access, upload } = this.#options;
    this.#matcher ??= new MatcherClass({ catalog: access.catalog, upload, owner, scope });
    return this.#matcher;
  }
}

/** Throws `FormatError` for queries that no client of ours sends. */
function checkQueries(queries: readonly SegmentQuery[]): void {
  if (queries.length > maxSegmentsPerOffer) throw new FormatError("too many segments in one call");
  for (const { id, blockIds } of queries)
    if (id.length !== idLength || blockIds.length % blockIdLength !== 0) throw new FormatError("not a segment query");
}

const asRequested = (requested: Retention) => requested;

/**
 * The upload target with the catalog and the object store in the same process: local repositories, tools, and the service
 * itself. A timer renews the upload's lease while the backup runs, because a walk that finds nothing new, or a pack on a
 * slow connection, makes no call for hours.
 *
 * The code that matches blocks and registers units is loaded when it is first needed. A backup that finds nothing changed
 * never needs it.
 */

import type { Retention, SnapshotRow, UploadStart, UploadUnit } from "../catalog/catalog.ts";
import { CatalogError } from "../catalog/catalog.ts";
import { assertNewestEpoch, assertNotRevoked, beginClaimedUpload } from "../catalog/claim-session.ts";
import type { ChainWriter } from "../catalog/vault-chain.ts";
import { appendToChain, chainWriter } from "../catalog/vault-chain.ts";
import { Bitmap } from "../format/bitmap.ts";
import { FormatError, sameBytes } from "../format/bytes.ts";
import type { ChainEntry } from "../format/chain.ts";
import { sha256 } from "../format/hash.ts";
import type { SnapshotDraft } from "../format/manifest.ts";
import { acceptManifest, openDraft } from "../format/manifest.ts";
import type { SessionHeader } from "../format/session-header.ts";
import { parseSessionHeader } from "../format/session-header.ts";
import type { Signer } from "../format/signing.ts";
import type { VaultAccess } from "../vault.ts";
import type { Matcher } from "./matcher.ts";
import type { SegmentMatch, SegmentQuery, UploadTarget } from "./upload-target.ts";

/** An upload ends if its lease is not renewed for this long. The pins of a crashed backup end with it. */
export const uploadLeaseMs = 60 * 60_000;

/** Often enough that several renewals may fail, for example while the machine was suspended. */
const renewEveryMs = uploadLeaseMs / 6;

/** Calls `work` every `everyMs`; returns a function that stops it. */
export type Repeat = (everyMs: number, work: () => void) => () => void;

export interface LocalTargetOptions {
  readonly access: VaultAccess & { readonly keys: { readonly vaultId: Uint8Array } };
  readonly upload: string;
  readonly owner: string;
  /** Countersigns manifests. */
  readonly authority: Signer;
  /** Decides the retention of a snapshot for which a writer requests one. If absent, the request is granted as it is. */
  readonly grant?: ((requested: Retention) => Retention) | undefined;
  /**
   * Checks frames that are marked as damaged again before the upload begins, because blocks in damaged frames are stored
   * again. Absent if there is no key to open frames.
   */
  readonly recheck?: (() => Promise<unknown>) | undefined;
  /** The system's timer if absent. */
  readonly repeat?: Repeat | undefined;
}

type CompletedEntry = Extract<ChainEntry, { kind: "completed" }>;

interface ReadDraft {
  readonly header: SessionHeader;
  readonly row: SnapshotRow;
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
    const { access, upload, owner, authority, recheck } = this.#options;
    await access.catalog.expireUploads(access.ctx.now());
    if (recheck !== undefined && (await access.catalog.damagedFrames()).length > 0) await recheck();
    const leaseUntil = access.ctx.now() + uploadLeaseMs;
    const keys = { vaultId: access.keys.vaultId, authorityPublicKey: authority.publicKey };
    this.#start = await beginClaimedUpload({ ...access, keys }, { upload, owner, leaseUntil, base });
    this.#stopRenewing = (this.#options.repeat ?? byTimer)(renewEveryMs, () => {
      // If the upload has ended, `complete` reports it.
      this.#renew().catch(() => undefined);
    });
    return this.#start;
  }

  async reserveOrdinals(count: number): Promise<number> {
    const first = await this.#options.access.catalog.reserveOrdinals(count);
    const last = this.#ordinals.at(-1);
    // Usually a range starts where the last one ended.
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
    const matcher = this.#matcher ?? (await this.#loadMatcher());
    const matches: SegmentMatch[] = [];
    for (const query of queries) matches.push(await matcher.match(query));
    return matches;
  }

  noteSimilar(ordinal: number, similar: number): void {
    this.#matcher?.noteSimilar(ordinal, similar);
  }

  async #loadMatcher(): Promise<Matcher> {
    const { Matcher: MatcherClass } = await import("./matcher.ts");
    const { access, upload, owner } = this.#options;
    this.#matcher ??= new MatcherClass({ catalog: access.catalog, upload, owner });
    return this.#matcher;
  }

  async putPack(name: string, body: AsyncIterable<Uint8Array>): Promise<void> {
    const { store, names } = this.#options.access;
    await store.put(names.pack(name), body);
  }

  async register(unit: UploadUnit): Promise<void> {
    const { access, upload, owner, authority } = this.#options;
    if (this.#start === null) throw new Error("a unit was registered before the upload began");
    const { checkUnit } = await import("./check-unit.ts");
    const header = parseSessionHeader(unit.header);
    await assertNotRevoked(access.catalog, header);
    await assertNewestEpoch(access.catalog, header.epoch);
    const identity = { vaultId: access.keys.vaultId, authorityPublicKey: authority.publicKey };
    const rules = { ...this.#start, ...identity, owner, ordinals: this.#ordinals };
    await access.catalog.addUnit(upload, access.ctx.now(), checkUnit(unit, rules));
  }

  async complete(draft: SnapshotDraft): Promise<SnapshotRow> {
    const { access, upload, authority, grant } = this.#options;
    const accepted = { at: access.ctx.now(), retention: (grant ?? grantAll)(draft.row.retention) };
    const { header, row: drafted } = await this.#readDraft(draft);
    const row = { ...drafted, completedAt: accepted.at, retention: accepted.retention };
    // With a fresh lease the upload does not expire between the manifest and its row.
    await this.#renew();
    const name = access.names.manifest(row.id);
    const manifest = acceptManifest(authority, draft.manifest, accepted);
    await access.store.put(name, manifest, { ifAbsent: true });
    const chain = chainWriter(access, authority);
    const entry = { snapshot: row.id, manifestHash: sha256(manifest), retention: row.retention };
    const changes = await this.#record(chain, header, { kind: "completed", ...entry });
    const completed = { ...row, changes };
    try {
      await access.catalog.commit(upload, access.ctx.now(), completed);
    } catch (error) {
      // The upload has not expired, so prune has not recovered the manifest. Without its row it must be deleted: a rebuild
      // of the catalog would add the refused snapshot.
      if (error instanceof CatalogError && error.code === "not_closed") {
        await appendToChain(chain, () => ({ kind: "deleted", snapshot: row.id, by: "refused by the catalog" }));
        await access.store.delete(name);
      }
      throw error;
    } finally {
      this.#stopRenewing();
    }
    return completed;
  }

  /**
   * Records the completion. A revocation may have been recorded since the draft was read: its record was decided before this
   * session began and written after it. Then the manifest is deleted, because nothing may complete it later.
   */
  async #record(chain: ChainWriter, header: SessionHeader, entry: CompletedEntry): Promise<number> {
    try {
      return await appendToChain(chain, async () => {
        await assertNotRevoked(chain.catalog, header);
        return entry;
      });
    } catch (error) {
      if (error instanceof FormatError) await chain.store.delete(chain.names.manifest(entry.snapshot));
      throw error;
    }
  }

  /** The row that the draft's manifest describes, and its session. Only the source's name, which is private, comes from the draft. */
  async #readDraft({ manifest, row: { id, source } }: SnapshotDraft): Promise<ReadDraft> {
    const { access, authority } = this.#options;
    const { vaultId } = access.keys;
    const expected = { snapshot: id, vaultId };
    const { header, row } = openDraft(manifest, expected, authority.publicKey);
    await assertNotRevoked(access.catalog, header);
    await assertNewestEpoch(access.catalog, header.epoch);
    if (header.session !== this.#start?.session || header.nonce !== this.#start.nonce)
      throw new FormatError("the manifest is of another session than the upload");
    const known = await access.catalog.session(header.session);
    if (known !== null && !sameBytes(known.header, header.bytes))
      throw new FormatError("the manifest has another session header than the packs");
    // Decoding fails if the bitmap has an ordinal that was never reserved.
    Bitmap.decode(row.reach, await access.catalog.reserveOrdinals(0));
    return { header, row: { ...row, source, status: "completed" } };
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

/** A timer that does not keep the process alive. */
function byTimer(everyMs: number, work: () => void): () => void {
  const timer = setInterval(work, everyMs).unref();
  return () => clearInterval(timer);
}

const grantAll = (requested: Retention) => requested;

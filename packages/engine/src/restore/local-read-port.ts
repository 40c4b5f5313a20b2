/** The read port of a vault whose catalog, store and private keys are in this process. */

import type { FrameRow, FrameVersion, Item } from "../catalog/catalog.ts";
import { FormatError } from "../format/bytes.ts";
import { frameKey, openContentKey, parseSessionHeader, sessionBinding } from "../format/session-header.ts";
import { nodeKeyOf } from "../format/vault-keys.ts";
import type { ByteRange } from "../object-store.ts";
import type { ReadableVault } from "../vault.ts";
import { RecordChecker } from "./check-records.ts";
import { FrameReader, type FrameReaderOptions } from "./frame-reader.ts";
import { LruCache } from "./lru-cache.ts";
import type { FrameKey, ReadKeys, ReadPort, SealedFrame } from "./read-port.ts";
import { recheckFrames } from "./recheck-damaged.ts";
import { SettledSessions } from "./settled-sessions.ts";

/** Opened sessions in the cache: a content key and a binding of 32 bytes each. */
const maxSessions = 4096;

interface OpenedSession {
  readonly contentKey: Uint8Array;
  readonly binding: Uint8Array;
}

export class LocalReadPort implements ReadPort {
  readonly #vault: ReadableVault;
  readonly #sessions = new LruCache<number, OpenedSession>(maxSessions);
  /** Sessions that are being opened: frames of one session are read at the same time. */
  readonly #opening = new Map<number, Promise<OpenedSession | string>>();
  readonly #settledSessions: SettledSessions;
  readonly keys: ReadKeys;

  constructor(vault: ReadableVault) {
    this.#vault = vault;
    this.#settledSessions = new SettledSessions(vault);
    const { vaultId, blockIdKey } = vault.keys;
    this.keys = { vaultId, blockIdKey, nodeKey: nodeKeyOf(vault.keys) };
  }

  itemsByOrdinal(ordinals: readonly number[]): Promise<readonly (Item | null)[]> {
    return this.#vault.catalog.itemsByOrdinal(ordinals);
  }

  frames(frames: readonly number[]): Promise<readonly (FrameRow | null)[]> {
    return this.#vault.catalog.frames(frames);
  }

  async frameKeys(frames: readonly SealedFrame[]): Promise<readonly (FrameKey | string)[]> {
    const keys: (FrameKey | string)[] = [];
    for (const frame of frames) keys.push(await this.#frameKey(frame));
    return keys;
  }

  readPack(pack: string, range: ByteRange): Promise<Uint8Array> {
    const { store, names } = this.#vault;
    return store.get(names.pack(pack), { range });
  }

  async reportVerified(ordinals: readonly number[]): Promise<void> {
    const { catalog } = this.#vault;
    const records = new RecordChecker(catalog, new FrameReader(this), this.#settledSessions);
    await catalog.setVerified(await records.withRightRecords(ordinals));
  }

  async reportReadable(versions: readonly FrameVersion[]): Promise<void> {
    await recheckFrames(this.#vault.catalog, this, versions);
  }

  async #frameKey(frame: SealedFrame): Promise<FrameKey | string> {
    const session = this.#sessions.get(frame.session) ?? (await this.#openOnce(frame.session));
    if (typeof session === "string") return session;
    return { key: frameKey(session.contentKey, frame), binding: session.binding };
  }

  #openOnce(session: number): Promise<OpenedSession | string> {
    const known = this.#opening.get(session);
    if (known !== undefined) return known;
    const opening = this.#openSession(session).finally(() => this.#opening.delete(session));
    this.#opening.set(session, opening);
    return opening;
  }

  async #openSession(session: number): Promise<OpenedSession | string> {
    const stored = await this.#vault.catalog.session(session);
    if (stored === null) return "the catalog does not have its session";
    try {
      const header = parseSessionHeader(stored.header);
      const opened = { contentKey: openContentKey(this.#vault.keys, header), binding: sessionBinding(header) };
      this.#sessions.set(session, opened, 1);
      return opened;
    } catch (error) {
      if (error instanceof FormatError) return error.message;
      throw error;
    }
  }
}

/** A frame reader for a vault of this process. */
export function frameReaderOf(vault: ReadableVault, options?: FrameReaderOptions): FrameReader {
  return new FrameReader(new LocalReadPort(vault), options);
}

/** Reads marked frames (all, or only the given ones), removes the marks of intact ones, and returns these. */
export function recheckDamagedFrames(
  vault: ReadableVault,
  only?: readonly FrameVersion[],
): Promise<readonly FrameRow[]> {
  return recheckFrames(vault.catalog, new LocalReadPort(vault), only);
}

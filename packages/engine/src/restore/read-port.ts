/**
 * The read port: what a reader needs of a vault. Restore, one-file reads, verification and archives use only this
 * interface. So they run beside the catalog and the store (`LocalReadPort`), and in a client that calls the service.
 *
 * A client gets sealed bytes and the keys of single frames. It never gets a session's content key, so it opens only frames
 * whose keys it got. Every call may be repeated.
 */

import type { FrameRow, FrameVersion, Item } from "../catalog/catalog.ts";
import type { SealedFrameName } from "../format/session-header.ts";
import type { ByteRange } from "../object-store.ts";

export interface ReadPort {
  readonly keys: ReadKeys;
  /** The items of these ordinals; null where the catalog has none. */
  itemsByOrdinal(ordinals: readonly number[]): Promise<readonly (Item | null)[]>;
  /** Where these frames are, with their block lists; null where the catalog has none. */
  frames(frames: readonly number[]): Promise<readonly (FrameRow | null)[]>;
  /** The keys that open these sealed frames. A string is the reason why there is none. */
  frameKeys(frames: readonly SealedFrame[]): Promise<readonly (FrameKey | string)[]>;
  /** Reads a range of a pack. Rejects like `ObjectStore.get`. */
  readPack(pack: string, range: ByteRange): Promise<Uint8Array>;
  /** Reports segments that were read back and whose blocks match their ids. A service ignores this report of a client. */
  reportVerified(ordinals: readonly number[]): Promise<void>;
  /** Reports frames that have a damage mark and could be read. The receiver reads them again itself. */
  reportReadable(versions: readonly FrameVersion[]): Promise<void>;
}

/** The vault's keys that check content. They open nothing. */
export interface ReadKeys {
  readonly vaultId: Uint8Array;
  readonly blockIdKey: Uint8Array;
  readonly nodeKey: Uint8Array;
}

/** A sealed frame as its own header names it. */
export interface SealedFrame extends SealedFrameName {
  readonly session: number;
}

/** What opens one frame: its key, and the binding of its session. */
export interface FrameKey {
  readonly key: Uint8Array;
  readonly binding: Uint8Array;
}

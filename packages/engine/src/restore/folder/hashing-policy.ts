/**
 * Decides which blocks a restore hashes again (docs/decisions/0119).
 *
 * The seal of a frame shows that its bytes are those that the session's writer sealed as this frame. So only that writer
 * could have stored other bytes under the id of a block. A block is not hashed again where
 * - verification has compared the frame with its block ids (the window's plan has this), or
 * - upkeep sealed the frame: it compares every block before it seals, or
 * - the writer of the snapshot sealed the frame: a writer that stores wrong bytes damages only its own snapshot.
 * Every other block is hashed and compared with its id.
 */

import type { SnapshotRow } from "../../catalog/catalog.ts";
import { FormatError, hex } from "../../format/bytes.ts";
import { openManifest } from "../../format/manifest.ts";
import { parseSessionHeader } from "../../format/session-header.ts";
import { isObjectStoreError } from "../../object-store.ts";
import type { Vault } from "../../vault.ts";
import { readWriters } from "../../vault.ts";

export class HashingPolicy {
  readonly #vault: Vault;
  readonly #snapshot: SnapshotRow;
  readonly #trusted = new Map<number, boolean>();
  #writer: Promise<string | null> | null = null;

  constructor(vault: Vault, snapshot: SnapshotRow) {
    this.#vault = vault;
    this.#snapshot = snapshot;
  }

  /** Whether blocks of frames that this session sealed need no hashing, in a restore of this snapshot. */
  async trustsSession(session: number): Promise<boolean> {
    const known = this.#trusted.get(session);
    if (known !== undefined) return known;
    const sealer = await this.#signerOf(session);
    this.#writer ??= this.#writerOfSnapshot();
    const trusted = sealer !== null && (sealer === hex(this.#vault.authority.id) || sealer === (await this.#writer));
    this.#trusted.set(session, trusted);
    return trusted;
  }

  /** The writer of a session; null where the catalog has no header of it. */
  async #signerOf(session: number): Promise<string | null> {
    const stored = await this.#vault.catalog.session(session);
    return stored === null || stored.header.length === 0 ? null : hex(parseSessionHeader(stored.header).writerId);
  }

  /**
   * The writer of the snapshot. A session that stored nothing new has no header in the catalog: then the manifest has it.
   * With null only frames of upkeep are trusted.
   */
  async #writerOfSnapshot(): Promise<string | null> {
    const { store, names, keys } = this.#vault;
    const known = await this.#signerOf(this.#snapshot.session);
    if (known !== null) return known;
    try {
      const bytes = await store.get(names.manifest(this.#snapshot.id));
      const expected = { snapshot: this.#snapshot.id, vaultId: keys.vaultId };
      const { header } = openManifest(bytes, expected, await readWriters(this.#vault), keys.authorityPublicKey);
      return hex(header.writerId);
    } catch (error) {
      // Scrub reports a missing or damaged manifest. Here more blocks are hashed, nothing else.
      if (error instanceof FormatError || isObjectStoreError(error, "not_found")) return null;
      throw error;
    }
  }
}

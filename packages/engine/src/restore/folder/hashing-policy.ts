/**
 * Says whose word is enough in a restore (docs/decisions/0119).
 *
 * A frame's seal proves that its bytes are what the session's writer sealed as this very frame. Only that writer could have
 * put other bytes under a block's id. So a block need not be hashed again where
 * - verification has compared the frame with its ids (the plan says so),
 * - upkeep sealed the frame, which compares before it seals,
 * - the writer of the snapshot sealed it: whoever lies there could as well have backed up other files.
 * Everything else is a claim of another client, and is hashed.
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
  readonly #sessions = new Map<number, boolean>();
  #writer: Promise<string | null> | null = null;

  constructor(vault: Vault, snapshot: SnapshotRow) {
    this.#vault = vault;
    this.#snapshot = snapshot;
  }

  /** Whether the blocks of frames that this session sealed are what their ids say, for this snapshot. */
  async trusts(session: number): Promise<boolean> {
    const known = this.#sessions.get(session);
    if (known !== undefined) return known;
    const sealer = await this.#signerOf(session);
    this.#writer ??= this.#writerOfSnapshot();
    const trusted = sealer !== null && (sealer === hex(this.#vault.authority.id) || sealer === (await this.#writer));
    this.#sessions.set(session, trusted);
    return trusted;
  }

  async #signerOf(session: number): Promise<string | null> {
    const stored = await this.#vault.catalog.session(session);
    return stored === null || stored.header.length === 0 ? null : hex(parseSessionHeader(stored.header).writerId);
  }

  /** A session in which nothing was new has no header in the catalog; its manifest has. Null trusts nobody. */
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
      // A lost or damaged manifest is scrubbing's to name; here it only means that every block is hashed.
      if (error instanceof FormatError || isObjectStoreError(error, "not_found")) return null;
      throw error;
    }
  }
}

/**
 * Which sessions are *settled*: they have ended, and the store has no pack of them that the catalog does not have. A client
 * may store a second version of its frames in a pack that it never registers. A rebuild before the next prune finds both
 * versions and may take the wrong one. So nobody else may depend on the content of a session that is not settled. No pack
 * can be added to a session that has ended, so a settled session stays settled.
 */

import type { Catalog } from "../catalog/catalog.ts";
import { FormatError, sameBytes } from "../format/bytes.ts";
import type { VaultNames } from "../format/object-names.ts";
import { lastPart } from "../format/object-names.ts";
import { packHeaderLength, sessionOfPack } from "../format/pack.ts";
import type { SessionHeader } from "../format/session-header.ts";
import { signerId } from "../format/signing.ts";
import type { ObjectStore } from "../object-store.ts";
import { isObjectStoreError } from "../object-store.ts";

/** What finding unregistered packs needs. */
export interface PackLists {
  readonly store: ObjectStore;
  readonly names: VaultNames;
  readonly catalog: Pick<Catalog, "packs" | "sessions">;
  readonly keys: { readonly authorityPublicKey: Uint8Array };
}

/** Packs looked up in one call of the catalog. */
const packsPerCall = 512;

export class SettledSessions {
  readonly #from: PackLists;
  /** Sessions from this number on had not begun at the last look. */
  #next = 0;
  /** Sessions that were running or had unregistered packs at the last look. */
  #unsettled = new Set<number>();

  constructor(from: PackLists) {
    this.#from = from;
  }

  /** Looks at the store and the catalog, unless all these sessions were settled at the last look. */
  async look(sessions: Iterable<number>): Promise<void> {
    if ([...sessions].every((session) => this.isSettled(session))) return;
    const { catalog, store, names } = this.#from;
    const { running, next } = await catalog.sessions();
    const unsettled = new Set(running);
    let batch: string[] = [];
    const check = async () => {
      const rows = await catalog.packs(batch);
      const unregistered = batch.filter((_, i) => rows[i] === null);
      batch = [];
      for (const pack of unregistered) {
        const header = await this.#header(names.pack(pack));
        if (header !== null && !this.#isOfAuthority(header)) unsettled.add(header.session);
      }
    };
    for await (const { name } of store.list(names.packs)) if (batch.push(lastPart(name)) >= packsPerCall) await check();
    await check();
    this.#next = next;
    this.#unsettled = unsettled;
  }

  /** Whether a session was settled at the last look. */
  isSettled(session: number): boolean {
    return session < this.#next && !this.#unsettled.has(session);
  }

  /** Orphans of upkeep are not false. */
  #isOfAuthority({ writerId }: SessionHeader): boolean {
    return sameBytes(writerId, signerId(this.#from.keys.authorityPublicKey));
  }

  /** The session header of a pack; null if the pack is gone or is none, so that a rebuild refuses it too. */
  async #header(name: string): Promise<SessionHeader | null> {
    try {
      return sessionOfPack(await this.#from.store.get(name, { range: { offset: 0, length: packHeaderLength } }));
    } catch (error) {
      const isNone = isObjectStoreError(error, "not_found") || isObjectStoreError(error, "range");
      if (isNone || error instanceof FormatError) return null;
      throw error;
    }
  }
}

/**
 * The names of a vault's objects. Everything of a vault is under one prefix, so erasing a vault is erasing a prefix.
 *
 *   vaults/<vault>/keys/<epoch>                   wrapped keys
 *   vaults/<vault>/keys/<epoch>.copy              a copy of them: without the keys nothing else can be read
 *   vaults/<vault>/writers/<writer>               registrations
 *   vaults/<vault>/sessions/<number>              claims of session numbers
 *   vaults/<vault>/packs/<pack>                   packs
 *   vaults/<vault>/snapshots/<snapshot>/manifest  signed manifests
 *   vaults/<vault>/snapshots/<snapshot>/change-…  changes of retention, numbered from 1, never replaced
 *   vaults/<vault>/snapshots/<snapshot>/tombstone the snapshot was deleted; kept for ever
 */

import { hex } from "./bytes.ts";

const digits = 8;

/** A session number has 32 bits. */
const sessionDigits = 10;

export interface VaultNames {
  readonly keys: string;
  readonly writers: string;
  readonly sessions: string;
  readonly packs: string;
  readonly snapshots: string;
  keyObject(epoch: number): string;
  keyCopy(epoch: number): string;
  writer(id: Uint8Array): string;
  session(session: number): string;
  pack(pack: string): string;
  manifest(snapshot: string): string;
  change(snapshot: string, number: number): string;
  tombstone(snapshot: string): string;
}

/** The names of one vault. */
export function vaultNames(vaultId: Uint8Array): VaultNames {
  const root = `vaults/${hex(vaultId)}`;
  const numbered = (value: number) => String(value).padStart(digits, "0");
  return {
    keys: `${root}/keys/`,
    writers: `${root}/writers/`,
    sessions: `${root}/sessions/`,
    packs: `${root}/packs/`,
    snapshots: `${root}/snapshots/`,
    keyObject: (epoch) => `${root}/keys/${numbered(epoch)}`,
    keyCopy: (epoch) => `${root}/keys/${numbered(epoch)}.copy`,
    writer: (id) => `${root}/writers/${hex(id)}`,
    session: (session) => `${root}/sessions/${String(session).padStart(sessionDigits, "0")}`,
    pack: (pack) => `${root}/packs/${pack}`,
    manifest: (snapshot) => `${root}/snapshots/${snapshot}/manifest`,
    change: (snapshot, number) => `${root}/snapshots/${snapshot}/change-${numbered(number)}`,
    tombstone: (snapshot) => `${root}/snapshots/${snapshot}/tombstone`,
  };
}

/** The last part of an object's name. */
export function lastPart(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

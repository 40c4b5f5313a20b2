/**
 * The names of a vault's objects. Everything of a vault is under one prefix, so erasing a vault is erasing a prefix.
 *
 *   vaults/<vault>/keys/<epoch>                   wrapped keys
 *   vaults/<vault>/keys/<epoch>.copy              a copy of them: without the keys nothing else can be read
 *   vaults/<vault>/sessions/<number>              claims of session numbers
 *   vaults/<vault>/packs/<pack>                   packs
 *   vaults/<vault>/snapshots/<snapshot>           signed manifests
 *   vaults/<vault>/chain/<sequence>               signed records of completions, retention and deletions
 */

import { hex } from "./bytes.ts";

const digits = 8;

/** A session number is stored as u32. */
const sessionDigits = 10;

/** A vault never has this many records; equal lengths make the order of names the order of records. */
const sequenceDigits = 12;
const sequenceName = new RegExp(`^[0-9]{${sequenceDigits}}$`);

export interface VaultNames {
  readonly keys: string;
  readonly sessions: string;
  readonly packs: string;
  readonly snapshots: string;
  readonly chain: string;
  keyObject(epoch: number): string;
  keyCopy(epoch: number): string;
  session(session: number): string;
  pack(pack: string): string;
  manifest(snapshot: string): string;
  chainRecord(sequence: number): string;
}

/** The names of one vault. */
export function vaultNames(vaultId: Uint8Array): VaultNames {
  const root = `vaults/${hex(vaultId)}`;
  const numbered = (value: number) => String(value).padStart(digits, "0");
  return {
    keys: `${root}/keys/`,
    sessions: `${root}/sessions/`,
    packs: `${root}/packs/`,
    snapshots: `${root}/snapshots/`,
    chain: `${root}/chain/`,
    keyObject: (epoch) => `${root}/keys/${numbered(epoch)}`,
    keyCopy: (epoch) => `${root}/keys/${numbered(epoch)}.copy`,
    session: (session) => `${root}/sessions/${String(session).padStart(sessionDigits, "0")}`,
    pack: (pack) => `${root}/packs/${pack}`,
    manifest: (snapshot) => `${root}/snapshots/${snapshot}`,
    chainRecord: (sequence) => `${root}/chain/${String(sequence).padStart(sequenceDigits, "0")}`,
  };
}

/** The sequence number in the name of a chain record; null if it is not the name of one. */
export function chainSequence(names: VaultNames, name: string): number | null {
  const number = name.slice(names.chain.length);
  if (!sequenceName.test(number)) return null;
  const sequence = Number(number);
  return sequence === 0 ? null : sequence;
}

/** The last part of an object's name. */
export function lastPart(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

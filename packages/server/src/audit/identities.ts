/**
 * Who the people of a chain are. A chain has ids alone. Names are in a table beside it, each encrypted with a key of that person, and the
 * key is encrypted with a key of the service. Erasing a person deletes both; the chain stays as it is, and the trail says `erased`.
 */

import { createCipheriv, createDecipheriv, createHash } from "node:crypto";
import type { Random } from "../kernel/clock.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { Tx } from "../kernel/tx.ts";
import { peopleWithIdentities, type SealedIdentity, upsertIdentity } from "./identity-store.ts";

/** What is kept of a person. */
interface Identity {
  readonly full_name: string;
  readonly email: string;
}

/** What the trail shows in place of a name. */
export const erasedName = "erased";

/** AES-256-GCM, as in `kernel/secrets.ts`. */
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

export interface Identities {
  /** The name of a member, `erased`, or null for an id that is no member of the account. */
  nameOf(personId: string | null): string | null;
  /** Changes when a name changes: of two exports with equal digests, the names are equal. */
  readonly digest: Buffer;
}

export const noIdentities: Identities = { nameOf: () => null, digest: Buffer.alloc(0) };

/** The names of an account's members. Names that are new or were changed are stored first. */
export async function readIdentities(
  tx: Tx,
  sources: { readonly secrets: Secrets; readonly random: Random },
  accountId: string,
): Promise<Identities> {
  const rows = await peopleWithIdentities(tx, accountId);
  const names = new Map<string, string>();
  for (const row of rows) {
    if (row.erased_at !== null) {
      names.set(row.id, erasedName);
      continue;
    }
    names.set(row.id, row.full_name);
    const identity: Identity = { full_name: row.full_name, email: row.email };
    const kept = openIdentity(sources.secrets, row.id, row);
    if (kept === null || kept.full_name !== identity.full_name || kept.email !== identity.email)
      await saveIdentity(tx, sources, { accountId, personId: row.id, identity });
  }
  const digest = createHash("sha256");
  for (const [id, name] of [...names].sort(([a], [b]) => (a < b ? -1 : 1))) digest.update(JSON.stringify([id, name]));
  return { nameOf: (id) => (id === null ? null : (names.get(id) ?? null)), digest: digest.digest() };
}

function openIdentity(
  secrets: Secrets,
  personId: string,
  { sealed_key: sealedKey, sealed_identity: sealed }: SealedIdentity,
): Identity | null {
  if (sealedKey === null || sealed === null) return null;
  const key = secrets.unseal("audit-identity", sealedKey, Buffer.from(personId));
  const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
  const plain = Buffer.concat([decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()]);
  return JSON.parse(plain.toString()) as Identity;
}

async function saveIdentity(
  tx: Tx,
  { secrets, random }: { readonly secrets: Secrets; readonly random: Random },
  { accountId, personId, identity }: { accountId: string; personId: string; identity: Identity },
): Promise<void> {
  const key = random.bytes(keyBytes);
  const nonce = random.bytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const encrypted = Buffer.concat([cipher.update(JSON.stringify(identity)), cipher.final()]);
  const sealed = {
    sealed_key: secrets.seal("audit-identity", key, Buffer.from(personId)),
    sealed_identity: Buffer.concat([nonce, cipher.getAuthTag(), encrypted]),
    changed_at: tx.now,
  };
  await upsertIdentity(tx, { person_id: personId, account_id: accountId, ...sealed });
}

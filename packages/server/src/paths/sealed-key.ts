/** The key of a projection in the database: sealed with the root key, for its vault alone. */

import type { Random } from "../kernel/clock.ts";
import type { Secrets } from "../kernel/secrets.ts";
import { projectionKeyBytes } from "./path-keys.ts";

export function newSealedKey(secrets: Secrets, random: Random, vaultId: string): Buffer {
  return secrets.seal("path-keys", random.bytes(projectionKeyBytes), Buffer.from(vaultId));
}

export function openKey(secrets: Secrets, row: { readonly sealed_key: Buffer; readonly vault_id: string }): Buffer {
  return secrets.unseal("path-keys", row.sealed_key, Buffer.from(row.vault_id));
}

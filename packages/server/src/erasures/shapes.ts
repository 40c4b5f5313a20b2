/** What erasures look like from outside: for owners, and with the account for staff. */

import { closed, nullable, oneOf, type Static, Type, timestamp, uuid } from "../kernel/http/schema.ts";
import { byteCount } from "../vaults/index.ts";
import type { ErasureRow } from "./store.ts";

/** Four times the length of the proofs of today. */
const maxProofLength = 4_000;

const fields = {
  id: uuid("Id of the erasure."),
  vault_id: uuid("The vault."),
  cause: oneOf(["vault_deletion", "taxpayer_deletion", "account_closing"], "What decided it."),
  act_id: uuid("The act that decided it."),
  ordered_by: uuid("The member who started the act."),
  state: oneOf(["erasing", "erased"], "`erased`: nothing of the vault is left, and the proof is there."),
  objects: byteCount("Objects of the vault in the object store when the erasure began."),
  bytes: byteCount("Their bytes."),
  created_at: timestamp("When it began. From then on nobody reads the vault."),
  keys_destroyed_at: nullable(timestamp("When every key object was gone. From then on nobody can read a copy.")),
  erased_at: nullable(timestamp("When it ended.")),
  proof: nullable(
    Type.String({
      minLength: 1,
      maxLength: maxProofLength,
      pattern: "^[\\w-]+\\.[\\w-]+\\.[\\w-]+$",
      examples: ["eyJhbGciOiJFZERTQSJ9.eyJ2YXVsdF9pZCI6IiJ9.c2ln"],
      description:
        "A compact JWS (EdDSA, type `emanet-erasure+jws`) about what was erased, when and by whose decision. It is checked with the keys at `/.well-known/emanet-keys.json`, like a receipt.",
    }),
  ),
};

export const erasureShape = closed(fields, { title: "Erasure" });
export const adminErasureShape = closed({ ...fields, account_id: uuid("The account.") }, { title: "AdminErasure" });

export function showErasure(row: ErasureRow): Static<typeof erasureShape> {
  return {
    ...{ id: row.id, vault_id: row.vault_id, cause: row.cause, act_id: row.act_id, ordered_by: row.ordered_by },
    ...{ state: row.state, objects: row.objects, bytes: row.bytes, created_at: row.created_at.toISOString() },
    keys_destroyed_at: row.keys_destroyed_at?.toISOString() ?? null,
    erased_at: row.erased_at?.toISOString() ?? null,
    proof: row.proof,
  };
}

/** What a client says about a snapshot whose content comes in other calls, and how it is made. */

import { oneLinePattern } from "../accounts/index.ts";
import type { Random } from "../kernel/clock.ts";
import { closed, Type, text, uuid } from "../kernel/http/schema.ts";
import type { Tx } from "../kernel/tx.ts";
import { targetVaultId } from "../vaults/index.ts";
import { createSnapshot } from "./lifecycle.ts";
import { type AccountCaller, type NewUpload, newRow, openTarget } from "./new-upload.ts";
import { externalReference, label, metadata, trigger } from "./shapes.ts";
import { findSnapshot, type SnapshotRecord } from "./store.ts";

const source = text(200, {
  pattern: oneLinePattern,
  description: "What is backed up: a name in the vault, which is made if it is new, or the id of a source.",
});

/** In a query as in a JSON body. */
export const optionalFields = {
  label: Type.Optional(label),
  vault_id: Type.Optional(targetVaultId),
  taxpayer_id: Type.Optional(uuid("The taxpayer whose vault is meant.")),
  trigger: Type.Optional(trigger),
  external_reference: Type.Optional(externalReference),
};

/** Only in a body: a tax number does not belong into an address. */
const taxId = Type.String({
  ...{ minLength: 10, maxLength: 11, pattern: "^[0-9]{10,11}$", examples: ["4540536920"] },
  description: "The taxpayer whose vault is meant, by VKN or TCKN.",
});

export const newSnapshotFields = {
  ...{ source, ...optionalFields },
  tax_id: Type.Optional(taxId),
  metadata: Type.Optional(metadata),
};

export const newSnapshot = closed(newSnapshotFields, { title: "NewSnapshot" });

export interface CreatedRecord {
  readonly record: SnapshotRecord;
  readonly sourceCreated: boolean;
}

/** Makes a snapshot whose content comes in other calls. */
export async function createQueued(
  tx: Tx,
  random: Random,
  caller: AccountCaller & { readonly wanted: NewUpload },
): Promise<CreatedRecord> {
  const target = await openTarget(tx, random, caller, "");
  const row = await newRow(tx, caller, target, { id: random.uuid(), upload_kind: "upload" });
  // Statements that are issued together run in this order.
  const [, record] = await Promise.all([
    createSnapshot(tx, { ...row, state: "queued" }),
    findSnapshot(tx, caller.principal.accountId, row.id),
  ]);
  if (record === undefined) throw new Error("a snapshot that was just made is gone");
  return { record, sourceCreated: target.sourceCreated };
}

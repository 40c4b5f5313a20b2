/** What taxpayers look like from outside. */

import { maskedTaxId, oneLinePattern } from "../accounts/index.ts";
import {
  closed,
  identifier,
  nullable,
  oneOf,
  type Static,
  Type,
  text,
  timestamp,
  uuid,
} from "../kernel/http/schema.ts";
import { byteCount, freshnessSchema, lastSnapshotSchema, lastSnapshotShape } from "../vaults/index.ts";
import type { TaxpayerRow } from "./store.ts";

/** The length of a TCKN; a VKN has ten digits. */
const tcknLength = 11;

export const taxpayerFields = {
  name: text(200, { pattern: oneLinePattern, description: "Name of the taxpayer.", examples: ["Deniz Örnek"] }),
  state: oneOf(["active", "archived"], "`archived`: no longer a client; its backups stay."),
};

export const taxpayerSchema = closed(
  {
    id: uuid("Id of the taxpayer."),
    ...taxpayerFields,
    tax_id: identifier("^[0-9*]{10,11}$", "Tax number; only its last four digits are shown.", "******7808"),
    tax_id_kind: oneOf(["vkn", "tckn"], "`vkn`: of a firm (10 digits). `tckn`: of a person (11 digits)."),
    vault_id: uuid("Its own vault."),
    freshness: freshnessSchema,
    last_snapshot: lastSnapshotSchema,
    last_good_at: nullable(timestamp("When a snapshot of one of its sources was last completed.")),
    size_bytes: nullable(byteCount("Bytes of the files of the last completed snapshots of its sources.")),
    created_at: timestamp("When it was made."),
    version: Type.Integer({ format: "int32", minimum: 1, maximum: 2_147_483_647 }),
  },
  { title: "Taxpayer" },
);

export function taxpayerShape(row: TaxpayerRow): Static<typeof taxpayerSchema> {
  return {
    id: row.id,
    name: row.name,
    state: row.state,
    tax_id: maskedTaxId(row.tax_id),
    tax_id_kind: row.tax_id.length === tcknLength ? "tckn" : "vkn",
    vault_id: row.vault_id,
    freshness: row.freshness,
    last_snapshot: lastSnapshotShape(row),
    last_good_at: row.last_good_at?.toISOString() ?? null,
    size_bytes: row.summed_bytes,
    created_at: row.created_at.toISOString(),
    version: row.version,
  };
}

export const taxpayerId = closed({ id: uuid("Id of the taxpayer.") });

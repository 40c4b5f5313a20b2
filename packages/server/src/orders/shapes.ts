/** What an agent sees of an order: the JSON of its operations. Those who gave the order see the restore. */

import { closed, nullable, oneOf, type Static, text, timestamp, uuid } from "../kernel/http/schema.ts";
import { absentAt, type OrderRecord, onConflict, onDamage, paths, showPath, statuses } from "../restores/index.ts";
import { byteCount } from "../snapshots/index.ts";

export const orderId = closed({ id: uuid("Id of the order; it is also the id of the restore.") });

export const runId = uuid("The run: chosen at random by each process of the agent when it starts.");

export const orderShape = closed(
  {
    id: uuid("Id of the order, and of the restore."),
    vault_id: uuid("The vault."),
    snapshot_id: uuid("The snapshot."),
    paths: nullable(paths),
    path: nullable(
      text(4096, {
        description:
          "The folder on the machine; null: a new one, for its owner alone, below the machine's root for restores.",
        examples: ["/srv/geri-yukleme/2026"],
      }),
    ),
    on_conflict: onConflict,
    on_damage: onDamage,
    status: oneOf(statuses, "How far it is."),
    run_id: nullable(uuid("The run that works on it.")),
    bytes_total: byteCount("Bytes of the files that were asked for."),
    files_total: byteCount("Files that were asked for."),
    bytes_restored: byteCount("Bytes that were written, as reported."),
    files_restored: byteCount("Files that were written, as reported."),
    warning_count: byteCount("Warnings that were reported."),
    created_at: timestamp("When it was given."),
    expires_at: timestamp("When it fails unless the agent reports before."),
  },
  { title: "Order" },
);

export function showOrder(row: OrderRecord): Static<typeof orderShape> {
  return {
    ...{ id: row.id, vault_id: row.vault_id, snapshot_id: row.snapshot_id },
    paths: row.paths?.map(showPath) ?? null,
    ...{ path: row.target_path, on_conflict: row.on_conflict, on_damage: row.on_damage },
    ...{ status: row.state, run_id: row.run_id },
    ...{ bytes_total: row.bytes_total, files_total: row.files_total },
    ...{ bytes_restored: row.bytes_restored, files_restored: row.files_restored, warning_count: row.warning_count },
    ...{ created_at: row.created_at.toISOString(), expires_at: absentAt(row).toISOString() },
  };
}

/** The warnings of one call. */
export const maxWarningsPerCall = 1000;

/** What recovery kits look like from outside. */

import { closed, nullable, oneOf, type Static, timestamp, uuid } from "../kernel/http/schema.ts";
import { kitStateAt, kitStates } from "./rules.ts";
import type { KitRow } from "./store.ts";

export const kitId = closed({ id: uuid("Id of the order.") });

export const kitShape = closed(
  {
    id: uuid("Id of the order."),
    vault_id: uuid("The vault."),
    state: oneOf(
      kitStates,
      "`waiting` for 24 hours, then `ready` for seven days. `delivered`: an owner has fetched it. `expired`: nobody has.",
    ),
    created_by: uuid("The owner who ordered it."),
    created_at: timestamp("When it was ordered."),
    ready_at: timestamp("From when on it can be fetched."),
    ended_by: nullable(uuid("The owner who fetched or canceled it.")),
    ended_at: nullable(timestamp("When it was fetched or canceled.")),
  },
  { title: "RecoveryKit" },
);

export const showKit =
  (now: Date) =>
  (row: KitRow): Static<typeof kitShape> => ({
    ...{ id: row.id, vault_id: row.vault_id, state: kitStateAt(row, now), created_by: row.created_by },
    ...{ created_at: row.created_at.toISOString(), ready_at: row.ready_at.toISOString(), ended_by: row.ended_by },
    ended_at: row.ended_at?.toISOString() ?? null,
  });

/** Orders and their keys are for owners alone. */
export const ownersOnly = { kind: "account", scope: "snapshots:read", roles: ["owner"] } as const;

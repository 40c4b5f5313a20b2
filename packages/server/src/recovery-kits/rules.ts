/**
 * Recovery kits: the decryption keys of a vault for an owner to keep offline. With one and a copy of the bucket the engine's command restores without the
 * service. This domain owns the table `recovery_kits`.
 *
 * States of a kit: `waiting` → `delivered` or `canceled`. It can be fetched from 24 hours after its order for seven days.
 *
 * Invariants
 * - A kit has what opens and never what signs: who steals one reads the vault and cannot forge a manifest or lift a hold.
 * - Keys leave the service only in the answer of `recovery_kits.download`, once per order, to an owner with a fresh second factor. Every owner was
 *   mailed 24 hours before and could cancel.
 * - Every order stays listed.
 */

const hourMs = 3_600_000;
/** The contract's: owners who did not order it have a day to notice. */
export const kitWaitMs = 24 * hourMs;
/** Then owners have forgotten the mail about it. */
const fetchMs = 7 * 24 * hourMs;

export const kitStates = ["waiting", "ready", "delivered", "canceled", "expired"] as const;
export type KitState = (typeof kitStates)[number];

/** The state that is shown: a row changes only when somebody acts. */
export function kitStateAt(
  row: { readonly state: "waiting" | "delivered" | "canceled"; readonly ready_at: Date },
  now: Date,
): KitState {
  if (row.state !== "waiting") return row.state;
  if (now < row.ready_at) return "waiting";
  return now.getTime() < row.ready_at.getTime() + fetchMs ? "ready" : "expired";
}

/** What the decisions on applications share. They run with row access `platform`: an application belongs to no account. */

import { Problem } from "../kernel/problems.ts";
import type { Tx } from "../kernel/tx.ts";
import { type ApplicationRow, findApplication, moveApplication } from "./store.ts";

export const platform = { kind: "platform" } as const;

/** 404 for an unknown application, 409 for one in another state. */
export async function moveOrRefuse(
  tx: Tx,
  id: string,
  wanted: Parameters<typeof moveApplication>[2],
): Promise<ApplicationRow> {
  const moved = await moveApplication(tx, id, wanted);
  if (moved !== undefined) return moved;
  throw new Problem((await findApplication(tx, id)) === undefined ? "not_found" : "state_conflict");
}

export function auditDecision(tx: Tx, action: string, id: string, reason: string): void {
  tx.audit({ action, targets: [{ type: "application", id }], metadata: { reason } });
}

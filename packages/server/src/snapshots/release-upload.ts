/**
 * What an upload that ended without a snapshot holds in the catalog: its lease, its pins, its reservations. The end of the
 * snapshot's row and the end in the catalog are two commits, and the process may die in between, so the second is a job.
 */

import { CatalogError } from "@emanet/engine";
import type { ServicePorts } from "../kernel/domain-services.ts";
import { retryAfter, task } from "../kernel/jobs/index.ts";

const minuteMs = 60_000;

/** The lease of an upload ends after an hour: what these attempts miss, the next upload of the vault ends. */
const retries = retryAfter(minuteMs, 5 * minuteMs, 15 * minuteMs, 60 * minuteMs);

interface SnapshotPayload {
  readonly accountId: string;
  readonly vaultId: string;
  readonly snapshotId: string;
}

export const releaseUpload = task<SnapshotPayload, ServicePorts>("snapshots.release_upload", {
  parse: parseSnapshotPayload,
  retry: retries,
  async run({ accountId, vaultId, snapshotId }, { ports }) {
    const vault = await ports.services.vaults.open(accountId, vaultId);
    try {
      await vault.catalog.endUpload(snapshotId);
    } catch (error) {
      // It has not begun, or has ended already.
      if (!(error instanceof CatalogError)) throw error;
    }
  },
});

/** The payload of a job about one snapshot. */
export function parseSnapshotPayload(payload: unknown): SnapshotPayload {
  const { accountId, vaultId, snapshotId } = (payload ?? {}) as Record<string, unknown>;
  if (typeof accountId !== "string" || typeof vaultId !== "string" || typeof snapshotId !== "string")
    throw new TypeError("the payload must name an account, a vault and a snapshot");
  return { accountId, vaultId, snapshotId };
}

/** Opens what the domains keep open while the service runs: in the order of the domains, closed in reverse. */

import { openAudit } from "./audit/index.ts";
import { openDownloads } from "./downloads/index.ts";
import { openFiles } from "./files/index.ts";
import type { Foundation } from "./foundation.ts";
import type { Services } from "./kernel/domain-services.ts";
import { openOrders } from "./orders/index.ts";
import { openReceipts } from "./receipts/index.ts";
import { openRecovery } from "./recovery/index.ts";
import { openRetention } from "./retention/index.ts";
import { openSnapshots } from "./snapshots/index.ts";
import { openUpkeep } from "./upkeep/index.ts";
import { openUploads } from "./uploads/index.ts";
import { openVaults } from "./vaults/index.ts";
import { openWebhooks } from "./webhooks/index.ts";

/** Rejects with a StartError when a setting cannot be used. What was opened until then is closed by `onStop`. */
export async function openServices(foundation: Foundation): Promise<Services> {
  const recovery = await openRecovery(foundation);
  const vaults = await openVaults(foundation);
  // Else the content of an account's first minute would belong to nobody when the database is lost.
  vaults.beforeKeys(recovery.recordChanges);
  openUploads(vaults);
  const snapshots = await openSnapshots({ ...foundation, vaults, processId: process.pid });
  openRetention(vaults);
  const files = openFiles({ ...foundation, vaults, snapshots });
  const receipts = openReceipts(foundation);
  const orders = openOrders(foundation);
  const downloads = openDownloads(foundation);
  const webhooks = await openWebhooks(foundation);
  const audit = openAudit(foundation);
  return {
    vaults,
    snapshots,
    files,
    receipts,
    orders,
    downloads,
    webhooks,
    recovery,
    audit,
    upkeep: openUpkeep(foundation),
  };
}

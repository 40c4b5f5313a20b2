/** Everything that runs in the background. Each domain lists its own tasks, recurring ones apart; this file joins the lists. */

import { agentTasks } from "./agents/index.ts";
import { auditRecurrences, auditTasks } from "./audit/index.ts";
import { downloadRecurrences } from "./downloads/index.ts";
import { erasureRecurrences, erasureTasks } from "./erasures/index.ts";
import { fileRecurrences, fileTasks } from "./files/index.ts";
import { identityRecurrences, identityTasks } from "./identity/index.ts";
import { idempotencyRecurrences } from "./kernel/idempotency.ts";
import { keyRecurrences } from "./keys/index.ts";
import { limitRecurrences } from "./limits/index.ts";
import { messageTasks } from "./messages/index.ts";
import { oauthRecurrences } from "./oauth/index.ts";
import { pathRecurrences, pathTasks } from "./paths/index.ts";
import { recoveryRecurrences } from "./recovery/index.ts";
import { reportRecurrences } from "./reports/index.ts";
import { restoreRecurrences, restoreTasks } from "./restores/index.ts";
import { retentionRecurrences, retentionTasks } from "./retention/index.ts";
import { snapshotRecurrences, snapshotTasks } from "./snapshots/index.ts";
import { upkeepRecurrences, upkeepTasks } from "./upkeep/index.ts";
import { vaultRecurrences } from "./vaults/index.ts";
import { webhookRecurrences } from "./webhooks/index.ts";

export const tasks = [
  ...messageTasks,
  ...agentTasks,
  ...identityTasks,
  ...idempotencyRecurrences,
  ...identityRecurrences,
  ...oauthRecurrences,
  ...keyRecurrences,
  ...limitRecurrences,
  ...snapshotTasks,
  ...snapshotRecurrences,
  ...fileTasks,
  ...fileRecurrences,
  ...vaultRecurrences,
  ...webhookRecurrences,
  ...restoreTasks,
  ...restoreRecurrences,
  ...retentionTasks,
  ...retentionRecurrences,
  ...upkeepTasks,
  ...upkeepRecurrences,
  ...downloadRecurrences,
  ...pathTasks,
  ...pathRecurrences,
  ...auditTasks,
  ...auditRecurrences,
  ...reportRecurrences,
  ...recoveryRecurrences,
  ...erasureTasks,
  ...erasureRecurrences,
];

/** Every event that an account can subscribe to. Each domain lists its own; this file joins the lists. */

import { accountEvents } from "../accounts/index.ts";
import { agentEvents } from "../agents/index.ts";
import { auditEvents } from "../audit/index.ts";
import type { EventType } from "../kernel/events.ts";
import { restoreEvents } from "../restores/index.ts";
import { retentionEvents } from "../retention/index.ts";
import { snapshotEvents } from "../snapshots/index.ts";
import { vaultEvents } from "../vaults/index.ts";
import { webhookEvents } from "./events.ts";
import { plannedEvents } from "./planned-events.ts";

export const eventCatalogue: readonly EventType[] = [
  ...accountEvents,
  ...vaultEvents,
  ...agentEvents,
  ...snapshotEvents,
  ...restoreEvents,
  ...auditEvents,
  ...retentionEvents,
  ...plannedEvents,
  ...webhookEvents,
];

export const eventNames: readonly string[] = eventCatalogue.map(({ name }) => name);

/** The events of vaults. */

import { eventType } from "../kernel/events.ts";
import { closed, nullable, timestamp, uuid } from "../kernel/http/schema.ts";
import { byteCount } from "./shapes.ts";

export const vaultQuotaWarning = eventType({
  name: "vault.quota_warning",
  summary: "A vault is nearly full",
  description:
    "What is stored reached the vault's `quota_warning_bytes`. Sent once, and again only after it was below in between.",
  ofVault: true,
  fields: closed(
    {
      vault_id: uuid("The vault."),
      stored_bytes: byteCount("What is stored, unfinished uploads included."),
      quota_bytes: byteCount("The vault's quota; without one, its `quota_warning_bytes`."),
    },
    { title: "VaultQuotaWarning" },
  ),
});

export const sourceOverdue = eventType({
  name: "source.overdue",
  summary: "A backup is late",
  description: "No snapshot of the source was completed in time. Sent once, until the source is fresh again.",
  ofVault: true,
  fields: closed(
    {
      source_id: uuid("The source."),
      last_snapshot_id: nullable(uuid("Its newest completed snapshot.")),
      expected_at: timestamp("When the next one was expected."),
    },
    { title: "SourceOverdue" },
  ),
});

export const vaultEvents = [vaultQuotaWarning, sourceOverdue];

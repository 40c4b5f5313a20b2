/**
 * The events of retention: suspicious snapshots, and deletions of sources, taxpayers and vaults and closings of accounts from the order to the end of their 72
 * hours. Each is emitted in the commit of what it tells.
 */

import { eventType } from "../kernel/events.ts";
import { closed, nullable, oneOf, Type, timestamp, uuid } from "../kernel/http/schema.ts";

const count = (description: string) =>
  Type.Integer({ format: "int64", minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

export const sourceSuspicious = eventType({
  name: "source.suspicious",
  summary: "A snapshot lost or changed most files",
  description:
    "More than half of the source's files are gone or different. Nothing of the source expires until a person accepts it.",
  ofVault: true,
  fields: closed(
    {
      source_id: uuid("The source."),
      snapshot_id: uuid("The snapshot."),
      lost: count("Files that are gone."),
      changed: count("Files that are different."),
    },
    { title: "SourceSuspicious" },
  ),
});

const deletionKinds = ["source_deletion", "taxpayer_deletion", "vault_deletion", "account_closing"] as const;
export type DeletionKind = (typeof deletionKinds)[number];

const deletion = (title: string) =>
  closed(
    {
      act_id: uuid("The act; `pending_acts.cancel` cancels it while it waits."),
      kind: oneOf(deletionKinds, "What is deleted, or that the account is closed."),
      vault_id: uuid("The vault; where the account is closed, its default vault."),
      source_id: nullable(uuid("The source, where one is deleted.")),
      taxpayer_id: nullable(uuid("The taxpayer, where one is deleted.")),
      due_at: timestamp("The end of the 72 hours."),
    },
    { title },
  );

export const deletionScheduled = eventType({
  name: "deletion.scheduled",
  summary: "A source, a taxpayer or a vault will be deleted, or the account will be closed",
  description: "Somebody has ordered it. It happens in 72 hours unless an owner cancels it.",
  ofVault: true,
  fields: deletion("DeletionScheduled"),
});

export const deletionCanceled = eventType({
  name: "deletion.canceled",
  summary: "A deletion or a closing was canceled",
  description: "Nothing of it happened.",
  ofVault: true,
  fields: deletion("DeletionCanceled"),
});

export const deletionCompleted = eventType({
  name: "deletion.completed",
  summary: "A source, a taxpayer or a vault was deleted, or the account was closed",
  description:
    "What was deleted is not found any more: its snapshots expire now, and upkeep returns their space. A closed account can be read for 90 days.",
  ofVault: true,
  fields: deletion("DeletionCompleted"),
});

export const retentionEvents = [sourceSuspicious, deletionScheduled, deletionCanceled, deletionCompleted];

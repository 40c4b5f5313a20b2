/** What policies and acts look like from outside. */

import { closed, nullable, oneOf, type Static, Type, text, timestamp, uuid } from "../kernel/http/schema.ts";
import { invalidField } from "../kernel/http/validate.ts";
import { type Language, Problem } from "../kernel/problems.ts";
import type { SnapshotRecord } from "../snapshots/index.ts";
import { type ActRow, actStates } from "./act-store.ts";
import { actKinds, policyOf } from "./chain.ts";
import { noticeDays, type Policy, reasons } from "./rules.ts";

/** A rule that keeps more of something keeps everything; a floor or a ceiling is at most eleven years, as locks are. */
const maxCount = 10_000;
const maxDays = 4018;

function rule(description: string, maximum = maxCount, minimum = 1) {
  return Type.Optional(nullable(Type.Integer({ format: "int32", minimum, maximum, description })));
}

/** The fields of a policy in a request. One that is left out is null. */
export const policyFieldsOfRequest = {
  keep_last: rule("Of so many newest days with snapshots: the first and the last one."),
  keep_hourly: rule("Of so many newest days with snapshots: the last one of each hour, and the first."),
  keep_daily: rule("Of so many newest days with snapshots: the first and the last one."),
  keep_weekly: rule("Of the newest day in each of so many weeks with snapshots: the first and the last one."),
  keep_monthly: rule("Of the newest day in each of so many months with snapshots: the first and the last one."),
  keep_yearly: rule("Of the newest day in each of so many years with snapshots: the first and the last one."),
  keep_within_days: rule("Everything that is not older than so many days.", maxDays),
  floor_days: rule("For so many days nobody removes a snapshot, by no rule and by no deletion.", maxDays),
  ceiling_days: rule(
    `After so many days a snapshot is removed, even the newest one. Owners are mailed ${noticeDays} days ahead.`,
    maxDays,
    noticeDays + 1,
  ),
};

export const policyBody = closed(policyFieldsOfRequest, { title: "RetentionPolicyChange" });

const shown = (description: string, maximum = maxCount) =>
  nullable(Type.Integer({ format: "int32", minimum: 1, maximum, description }));

const policyShape = {
  keep_last: shown("Newest days with snapshots; null: no such rule."),
  keep_hourly: shown("Newest days of which every hour is kept."),
  keep_daily: shown("Newest days with snapshots."),
  keep_weekly: shown("Weeks."),
  keep_monthly: shown("Months."),
  keep_yearly: shown("Years."),
  keep_within_days: shown("Everything that is not older than so many days.", maxDays),
  floor_days: shown("For so many days nobody removes a snapshot.", maxDays),
  ceiling_days: shown("After so many days a snapshot is removed.", maxDays),
};

export const retentionShape = closed(
  {
    ...policyShape,
    inherited: Type.Boolean({ description: "Whether it is the policy of the vault, because the source has none." }),
    pending: nullable(
      closed(
        {
          act_id: uuid("The act; any owner can cancel it."),
          due_at: timestamp("When it takes effect."),
          policy: closed(policyShape, { title: "PendingRetentionPolicy" }),
        },
        { title: "PendingRetention", description: "A change that waits; null: none does." },
      ),
    ),
  },
  { title: "Retention" },
);

export function showRetention(
  policy: Policy,
  { inherited, pending }: { readonly inherited: boolean; readonly pending: ActRow | undefined },
): Static<typeof retentionShape> {
  return {
    ...policy,
    inherited,
    pending:
      pending === undefined
        ? null
        : { act_id: pending.id, due_at: pending.due_at.toISOString(), policy: policyOf(pending.policy) },
  };
}

/** The policy in a body. Throws for a ceiling below the floor. */
export function policyOfBody(body: object, language: Language, pointer = ""): Policy {
  const policy = policyOf(body);
  const { floor_days: floor, ceiling_days: ceiling } = policy;
  if (floor !== null && ceiling !== null && ceiling < floor)
    throw new Problem("validation_failed", {
      errors: [invalidField(`${pointer}/ceiling_days`, "out_of_range", language)],
    });
  return policy;
}

/** A sentence or two. */
const maxReasonLength = 500;

export const holdFields = {
  reason: text(maxReasonLength, { description: "Why it is held.", examples: ["VUK incelemesi"] }),
  review_at: nullable(timestamp("When people want to look at it again.")),
};

export const holdShape = closed(
  {
    ...holdFields,
    held_by: uuid("The owner who holds it."),
    held_at: timestamp("Since when."),
  },
  { title: "Hold" },
);

/** Throws `not_found` where there is none. */
export function showHold(record: SnapshotRecord): Static<typeof holdShape> {
  const { hold_reason: reason, hold_review_at: reviewAt, held_by: by, held_at: at } = record;
  if (!record.legal_hold || reason === null || by === null || at === null) throw new Problem("not_found");
  return { reason, review_at: reviewAt?.toISOString() ?? null, held_by: by, held_at: at.toISOString() };
}

export const actShape = closed(
  {
    id: uuid("Id of the act."),
    kind: oneOf(actKinds, "What happens when its time has come."),
    state: oneOf(
      actStates,
      "`waiting` until `due_at`; `refused`: something was held or locked, or the vault's signed chain does not have it.",
    ),
    vault_id: uuid("The vault."),
    source_id: nullable(uuid("The source, where it is about one.")),
    snapshot_id: nullable(uuid("The snapshot, where it is about one.")),
    taxpayer_id: nullable(uuid("The taxpayer, where it is about one.")),
    created_by: uuid("The member who started it."),
    canceled_by: nullable(uuid("The owner who canceled it; null also where a newer change replaced it.")),
    created_at: timestamp("When it was started."),
    due_at: timestamp("When it takes effect: 72 hours later."),
    ended_at: nullable(timestamp("When it was done, canceled or refused.")),
  },
  { title: "PendingAct" },
);

export function showAct(row: ActRow): Static<typeof actShape> {
  return {
    ...{ id: row.id, kind: row.kind, state: row.state, vault_id: row.vault_id, source_id: row.source_id },
    ...{ snapshot_id: row.snapshot_id, taxpayer_id: row.taxpayer_id, created_by: row.created_by },
    ...{ canceled_by: row.canceled_by, created_at: row.created_at.toISOString(), due_at: row.due_at.toISOString() },
    ended_at: row.ended_at?.toISOString() ?? null,
  };
}

export const actId = closed({ id: uuid("Id of the act.") });

export const reasonShape = oneOf(reasons, "Why it stays.");

/** Records of the audit trail as the API shows them, and the parameters that choose them. */

import {
  closed,
  identifier,
  nullable,
  oneOf,
  type Static,
  Type,
  text,
  timestamp,
  uuid,
} from "../kernel/http/schema.ts";
import type { Mask, MaskableParts } from "./masking.ts";
import type { RecordRow } from "./record-store.ts";
import type { ShareRow } from "./share-store.ts";
import { maxShareDays, usualShareDays } from "./shares.ts";

const facts = Type.Record(Type.String({ maxLength: 64, pattern: "^[a-z_0-9]+$" }), Type.Unknown(), {
  maxProperties: 50,
  additionalProperties: false,
  description: "Data about the action, without personal data.",
});

const actorKinds = ["anonymous", "system", "member", "client", "agent", "staff", "share"] as const;

const actor = closed({
  kind: oneOf(actorKinds, "Kind of the actor. `share`: an outside auditor with a share."),
  id: Type.Optional(identifier("^[A-Za-z0-9_-]+$", "Id of the actor.", "0199c0de-0000-7000-8000-000000000001")),
});

const target = closed({
  type: identifier("^[a-z_]+$", "Kind of the object.", "member"),
  id: identifier("^[A-Za-z0-9_-]+$", "Its id.", "0199c0de-0000-7000-8000-000000000002"),
});

const context = closed(
  {
    request_id: Type.Optional(identifier("^[A-Za-z0-9_-]+$", "The request.")),
    operation: Type.Optional(identifier("^[a-z_.]+$", "The operation of the request.")),
    session_id: Type.Optional(uuid("The session of the request.")),
    member_id: Type.Optional(uuid("The member of the session.")),
    client_id: Type.Optional(uuid("The OAuth client of the session.")),
    address: Type.Optional(identifier("^[0-9a-f.:]+/(24|48)$", "The network that the request came from.")),
  },
  { title: "AuditContext" },
);

const hash = (description: string) =>
  Type.String({
    ...{ minLength: 64, maxLength: 64, pattern: "^[0-9a-f]{64}$", description },
    examples: ["6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"],
  });

const recordMembers = {
  id: uuid("Id of the record."),
  chain: identifier("^(platform|[0-9a-f-]{36})$", "The audit chain: the id of an account, or `platform`.", "platform"),
  seq: Type.Integer({ format: "int64", minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  occurred_at: timestamp("When."),
  action: identifier("^[a-z_.]+$", "What.", "member.invited"),
  actor,
  targets: Type.Array(target, { maxItems: 100 }),
  context,
  outcome: oneOf(["success", "failure"], "Result of the action."),
  metadata: facts,
  prev_hash: hash("The hash of the record before it, in hexadecimal digits."),
  hash: hash("The hash of this record."),
};

export const adminAuditRecordSchema = closed(recordMembers, { title: "AdminAuditRecord" });

export const auditRecordSchema = closed(
  {
    ...recordMembers,
    person: nullable(
      text(200, {
        description: "The name of the member who acted, or `erased`. It is no part of the hash. Null for other actors.",
        examples: ["Elif Yıldız"],
      }),
    ),
  },
  { title: "AuditRecord" },
);

type AdminAuditRecord = Static<typeof adminAuditRecordSchema>;

export function adminRecordShape(row: RecordRow): AdminAuditRecord {
  return {
    id: row.id,
    chain: row.chain,
    seq: row.seq,
    occurred_at: row.occurred_at.toISOString(),
    action: row.action,
    actor: row.actor as AdminAuditRecord["actor"],
    targets: row.targets as AdminAuditRecord["targets"],
    context: row.context as AdminAuditRecord["context"],
    outcome: row.outcome,
    metadata: row.metadata as Record<string, unknown>,
    prev_hash: row.prev_hash.toString("hex"),
    hash: row.hash.toString("hex"),
  };
}

export function recordShape(row: RecordRow, person: string | null): Static<typeof auditRecordSchema> {
  return { ...adminRecordShape(row), person };
}

/** As an outside auditor sees it. Names that stand for people have the form of other ids. */
export const sharedRecordSchema = closed(
  {
    ...recordMembers,
    context: closed(
      {
        ...context.properties,
        member_id: Type.Optional(
          identifier("^[A-Za-z0-9_-]+$", "The member of the session, or a name that stands for it."),
        ),
      },
      { title: "SharedAuditContext" },
    ),
    person: nullable(
      text(200, {
        description: "The name of the member who acted, where the share shows it.",
        examples: ["Elif Yıldız"],
      }),
    ),
    masked: Type.Boolean({ description: "Parts of the record are not shown. Its hash covers them." }),
  },
  { title: "SharedAuditRecord" },
);

export function sharedRecordShape(
  row: RecordRow,
  person: string | null,
  mask: Mask,
): Static<typeof sharedRecordSchema> {
  const whole = adminRecordShape(row);
  const parts = { ...whole, person } as MaskableParts;
  const { isMasked, actor: by, targets, context: origin, metadata, person: name } = mask(parts);
  return { ...whole, actor: by, targets, context: origin, metadata, person: name, masked: isMasked } as Static<
    typeof sharedRecordSchema
  >;
}

/** The time that a list or an export covers. */
export const timeQuery = {
  from: Type.Optional(timestamp("Only records of this time or later.")),
  to: Type.Optional(timestamp("Only records before this time.")),
};

/** Filters that tell nothing about a person. Outside auditors have these. */
export const openFilters = {
  ...timeQuery,
  action: Type.Optional(
    text(64, {
      pattern: "^[a-z_]+(\\.[a-z_]+)*(\\.\\*)?$",
      description: "Only this action, or with `.*` at its end all of one kind.",
      examples: ["member.*"],
    }),
  ),
  actor_kind: Type.Optional(oneOf(actorKinds, "Only what actors of this kind did.")),
  target_type: Type.Optional(identifier("^[a-z_]+$", "Only what was done to objects of this kind.")),
  outcome: Type.Optional(oneOf(["success", "failure"], "Only with this result.")),
};

const filterMembers = {
  ...openFilters,
  actor_id: Type.Optional(identifier("^[A-Za-z0-9_-]+$", "Only what this member, client, agent or staff did.")),
  target_id: Type.Optional(identifier("^[A-Za-z0-9_-]+$", "Only what was done to this object.")),
};

/** The filters of lists. */
export const recordQuery = filterMembers;

const shareMembers = {
  id: uuid("Id of the share. Its reads are records whose `actor` has this id."),
  label: text(200, { minLength: 1, description: "For whom and for what.", examples: ["Bağımsız denetim 2026"] }),
  filter: closed(filterMembers, { title: "AuditShareFilter" }),
  show_persons: Type.Boolean({ description: "Names and ids of people, sessions and networks are shown." }),
  show_paths: Type.Boolean({
    description: "Paths and other texts that people wrote are shown, if people are shown too.",
  }),
  status: oneOf(["active", "expired", "revoked"], "Whether it can be read."),
  created_by: uuid("The member who made it."),
  created_at: timestamp("When it was made."),
  expires_at: timestamp("Until when it can be read."),
  revoked_at: nullable(timestamp("When it was revoked.")),
};

export const shareSchema = closed(shareMembers, { title: "AuditShare" });

export const newShareSchema = closed(
  {
    ...shareMembers,
    token: Type.String({
      ...{ minLength: 47, maxLength: 47, pattern: "^shr_[A-Za-z0-9_-]{43}$" },
      ...{ description: "The secret, shown only here.", examples: [`shr_${"A".repeat(43)}`] },
    }),
  },
  { title: "NewAuditShare" },
);

/** What the maker of a share says. */
export const shareRequestSchema = closed(
  {
    label: shareMembers.label,
    filter: Type.Optional(closed(filterMembers, { title: "AuditShareRequestFilter" })),
    days: Type.Optional(
      Type.Integer({
        ...{ minimum: 1, maximum: maxShareDays, format: "int32" },
        description: `For how many days it can be read (${usualShareDays}).`,
      }),
    ),
    show_persons: Type.Optional(shareMembers.show_persons),
    show_paths: Type.Optional(shareMembers.show_paths),
  },
  { title: "AuditShareRequest" },
);

export function shareShape(row: ShareRow, now: Date): Static<typeof shareSchema> {
  const isOver = row.expires_at <= now;
  return {
    id: row.id,
    label: row.label,
    filter: row.filter as Static<typeof shareSchema>["filter"],
    show_persons: row.shows_persons,
    show_paths: row.shows_paths,
    status: row.revoked_at !== null ? "revoked" : isOver ? "expired" : "active",
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    revoked_at: row.revoked_at?.toISOString() ?? null,
  };
}

export const shareId = closed({ id: uuid("Id of the share.") });

export const chainName = identifier("^(platform|[0-9a-f-]{36})$", "The id of an account, or `platform`.", "platform");

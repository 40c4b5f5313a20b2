/** What staff see, and the reason that every change of theirs has. */

import { maskedTaxId, memberSchema, packages } from "../accounts/index.ts";
import { type ApplicationRow, applicationKinds, applicationStates } from "../applications/index.ts";
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

/** Why; kept in the audit trail for ever, so without names, addresses or numbers of people. */
export const reasonSchema = text(500, {
  minLength: 3,
  pattern: "^[^\\u0000-\\u001f\\u007f]+$",
  description: "The reason. It is stored in the audit trail, so it must not contain personal data.",
});

export const idParam = closed({ id: uuid("Id.") });

export const applicationSchema = closed(
  {
    id: uuid("Id of the application."),
    status: oneOf(applicationStates, "State of the application."),
    kind: oneOf(applicationKinds, "The kind of applicant."),
    full_name: text(200, { description: "Name." }),
    email: Type.String({ format: "email", maxLength: 254, description: "E-mail address." }),
    phone: identifier("^\\+[0-9]+$", "Phone."),
    company_name: text(200, { description: "Name of the office or company." }),
    tax_id: identifier("^[0-9*]{10,11}$", "Tax number; only its last four digits are shown."),
    package: oneOf(packages, "The requested package."),
    note: nullable(text(2000, { description: "The note of the applicant." })),
    duplicate_of: nullable(uuid("An earlier application with the same e-mail address.")),
    decided_at: nullable(timestamp("When it was decided.")),
    decided_by: nullable(uuid("Who decided.")),
    decision_reason: nullable(text(500, { description: "Why." })),
    created_at: timestamp("When it was submitted."),
  },
  { title: "AdminApplication" },
);

export function applicationShape(row: ApplicationRow): Static<typeof applicationSchema> {
  return {
    id: row.id,
    status: row.status,
    kind: row.kind,
    full_name: row.full_name,
    email: row.email,
    phone: row.phone,
    company_name: row.company_name,
    tax_id: maskedTaxId(row.tax_id),
    package: row.package,
    note: row.note,
    duplicate_of: row.duplicate_of,
    decided_at: row.decided_at?.toISOString() ?? null,
    decided_by: row.decided_by,
    decision_reason: row.decision_reason,
    created_at: row.created_at.toISOString(),
  };
}

export const adminMemberSchema = closed(
  { ...memberSchema.properties, account_id: uuid("The member's account.") },
  { title: "AdminMember" },
);

const facts = Type.Record(Type.String({ maxLength: 64, pattern: "^[a-z_]+$" }), Type.Unknown(), {
  maxProperties: 50,
  additionalProperties: false,
  description: "Data about the action, without personal data.",
});

const actor = closed({
  kind: oneOf(["anonymous", "system", "member", "client", "agent", "staff"], "Kind of the actor."),
  id: Type.Optional(uuid("Id of the actor.")),
});

const target = closed({
  type: identifier("^[a-z_]+$", "Kind of the object."),
  id: identifier("^[A-Za-z0-9_-]+$", "Its id."),
});

export const auditRecordSchema = closed(
  {
    id: uuid("Id of the record."),
    chain: identifier("^(platform|[0-9a-f-]{36})$", "The audit chain: the id of an account, or `platform`."),
    seq: Type.Integer({ format: "int64", minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    occurred_at: timestamp("When."),
    action: identifier("^[a-z_.]+$", "What."),
    actor,
    targets: Type.Array(target, { maxItems: 100 }),
    context: closed(
      {
        request_id: Type.Optional(identifier("^[A-Za-z0-9_-]+$", "The request.")),
        operation: Type.Optional(identifier("^[a-z_.]+$", "The operation of the request.")),
        session_id: Type.Optional(uuid("The session of the request.")),
        member_id: Type.Optional(uuid("The member of the session.")),
        client_id: Type.Optional(uuid("The OAuth client of the session.")),
        address: Type.Optional(identifier("^[0-9a-f.:]+/(24|48)$", "The network that the request came from.")),
      },
      { title: "AuditContext" },
    ),
    outcome: oneOf(["success", "failure"], "Result of the action."),
    metadata: facts,
  },
  { title: "AdminAuditRecord" },
);

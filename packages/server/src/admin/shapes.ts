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
  description: "Why. Kept in the audit trail: no personal data.",
});

export const idParam = closed({ id: uuid("Id.") });

export const applicationSchema = closed(
  {
    id: uuid("Id of the application."),
    status: oneOf(applicationStates, "Where it stands."),
    kind: oneOf(applicationKinds, "Who applies."),
    full_name: text(200, { description: "Name." }),
    email: Type.String({ format: "email", maxLength: 254, description: "E-mail address." }),
    phone: identifier("^\\+[0-9]+$", "Phone."),
    company_name: text(200, { description: "Name of the office or company." }),
    tax_id: identifier("^[0-9*]{10,11}$", "Tax number, all but its last four digits masked."),
    package: oneOf(packages, "The package that is wanted."),
    note: nullable(text(2000, { description: "The applicant's words." })),
    duplicate_of: nullable(uuid("An earlier application with the same e-mail address.")),
    decided_at: nullable(timestamp("When it was decided.")),
    decided_by: nullable(uuid("Who decided.")),
    decision_reason: nullable(text(500, { description: "Why." })),
    created_at: timestamp("When it came."),
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
  description: "Facts about the act, without personal data.",
});

const actor = closed({
  kind: oneOf(["anonymous", "system", "member", "client", "agent", "staff"], "Who acted."),
  id: Type.Optional(uuid("Which one.")),
});

const target = closed({ type: identifier("^[a-z_]+$", "What it is."), id: identifier("^[A-Za-z0-9_-]+$", "Its id.") });

export const auditRecordSchema = closed(
  {
    id: uuid("Id of the record."),
    chain: identifier("^(platform|[0-9a-f-]{36})$", "Whose chain: an account's id, or `platform`."),
    seq: Type.Integer({ format: "int64", minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    occurred_at: timestamp("When."),
    action: identifier("^[a-z_.]+$", "What."),
    actor,
    targets: Type.Array(target, { maxItems: 100 }),
    context: closed(
      {
        request_id: Type.Optional(identifier("^[A-Za-z0-9_-]+$", "The request.")),
        operation: Type.Optional(identifier("^[a-z_.]+$", "Its operation.")),
        session_id: Type.Optional(uuid("The session that was used.")),
        member_id: Type.Optional(uuid("The member that it belongs to.")),
        client_id: Type.Optional(uuid("The OAuth client that it belongs to.")),
        address: Type.Optional(identifier("^[0-9a-f.:]+/(24|48)$", "The network that the request came from.")),
      },
      { title: "AuditContext" },
    ),
    outcome: oneOf(["success", "failure"], "How it went."),
    metadata: facts,
  },
  { title: "AdminAuditRecord" },
);

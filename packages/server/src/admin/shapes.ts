/** A record of the audit trail as staff see it. */

import { closed, identifier, oneOf, Type, timestamp, uuid } from "../kernel/http/schema.ts";

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
  type: identifier("^[a-z_]+$", "Kind of the object.", "member"),
  id: identifier("^[A-Za-z0-9_-]+$", "Its id.", "0199c0de-0000-7000-8000-000000000002"),
});

export const auditRecordSchema = closed(
  {
    id: uuid("Id of the record."),
    chain: identifier(
      "^(platform|[0-9a-f-]{36})$",
      "The audit chain: the id of an account, or `platform`.",
      "platform",
    ),
    seq: Type.Integer({ format: "int64", minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    occurred_at: timestamp("When."),
    action: identifier("^[a-z_.]+$", "What.", "member.invited"),
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

/** An application as staff see it: complete, but for the tax number, of which only the last four digits are shown. */

import { maskedTaxId, packages } from "../accounts/index.ts";
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
import { applicationKinds, applicationStates } from "./shapes.ts";
import type { ApplicationRow } from "./store.ts";

export const applicationSchema = closed(
  {
    id: uuid("Id of the application."),
    status: oneOf(applicationStates, "State of the application."),
    kind: oneOf(applicationKinds, "The kind of applicant."),
    full_name: text(200, { description: "Name.", examples: ["Ayşe Örnek"] }),
    email: Type.String({ format: "email", maxLength: 254, description: "E-mail address." }),
    phone: identifier("^\\+[0-9]+$", "Phone.", "+905320000000"),
    company_name: text(200, { description: "Name of the office or company.", examples: ["Örnek Mali Müşavirlik"] }),
    tax_id: identifier("^[0-9*]{10,11}$", "Tax number; only its last four digits are shown.", "******7808"),
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

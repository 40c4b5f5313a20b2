/** The person who asks, as the API shows them. */

import { emailSchema, languageSchema, oneLinePattern, type PersonRow } from "../../accounts/index.ts";
import { memberRoles } from "../../declarations.ts";
import { closed, identifier, nullable, oneOf, Type, text, uuid } from "../../kernel/http/schema.ts";
import { maskedPhone } from "../factors/index.ts";

export const meSchema = closed(
  {
    id: uuid("Your id."),
    account_id: nullable(uuid("Your account; null for staff.")),
    role: oneOf([...memberRoles, "staff"], "Your role."),
    email: emailSchema,
    full_name: text(200, { pattern: oneLinePattern, description: "Your name.", examples: ["Ayşe Örnek"] }),
    language: languageSchema,
    phone: nullable(identifier("^[+0-9*]+$", "Your phone; only its last four digits are shown.", "+********0000")),
    phone_verified: Type.Boolean({ description: "Whether codes can be sent by SMS." }),
    recovery_codes_left: Type.Integer({ format: "int32", minimum: 0, maximum: 100 }),
    version: Type.Integer({ format: "int32", minimum: 1, maximum: 2_147_483_647 }),
  },
  { title: "Me" },
);

/** A person as they see themselves. */
export function meShape(row: PersonRow, recoveryCodesLeft: number) {
  return {
    id: row.id,
    account_id: row.account_id,
    role: row.role,
    email: row.email,
    full_name: row.full_name,
    language: row.language,
    phone: maskedPhone(row.phone),
    phone_verified: row.phone_verified_at !== null,
    recovery_codes_left: recoveryCodesLeft,
    version: row.version,
  };
}

/** Pure decisions about applications. */

import { foldEmail, isTaxId, normalizeMobile } from "../identifiers/index.ts";
import { invalidField } from "../kernel/http/validate.ts";
import { type FieldError, type Language, Problem } from "../kernel/problems.ts";
import type { NewApplication } from "./shapes.ts";

/** An application with its identifiers in canonical form. */
export interface CheckedApplication extends Omit<NewApplication, "phone"> {
  readonly phone: string;
  readonly emailKey: string;
}

/** Checks rules that a schema cannot express, and lists all errors at once. */
export function checkApplication(given: NewApplication, language: Language): CheckedApplication {
  const phone = normalizeMobile(given.phone);
  const errors: FieldError[] = [];
  if (phone === null) errors.push(invalidField("/phone", "wrong_format", language));
  if (!isTaxId(given.tax_id)) errors.push(invalidField("/tax_id", "invalid_checksum", language));
  for (const consent of ["terms", "privacy"] as const) {
    if (!given.consents[consent]) errors.push(invalidField(`/consents/${consent}`, "consent_required", language));
  }
  if (phone === null || errors.length > 0) throw new Problem("validation_failed", { errors });
  return { ...given, phone, emailKey: foldEmail(given.email) };
}

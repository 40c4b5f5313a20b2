/** What an application looks like from outside. */

import { emailSchema, packages } from "../accounts/index.ts";
import { closed, oneOf, type Static, Type, text, uuid } from "../kernel/http/schema.ts";

export const applicationKinds = ["accounting_office", "company"] as const;
export const applicationStates = ["submitted", "under_review", "approved", "rejected", "withdrawn"] as const;

/** Something to read, and no control characters or line breaks: names go into mails and lists. */
const oneLine = "^(?=.*\\S)[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]+$";

/** Line breaks and tabs are part of a note. */
const manyLines = "^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f]+$";

export const newApplication = closed(
  {
    kind: oneOf(applicationKinds, "The kind of applicant."),
    full_name: text(200, { pattern: oneLine, description: "Name of the person who applies." }),
    email: { ...emailSchema, description: "The e-mail address for the answer." },
    phone: text(24, {
      minLength: 10,
      pattern: "^\\+?[0-9 ().-]+$",
      description: "Turkish mobile: `05…`, `5…`, `90…` or `+90…`.",
    }),
    company_name: text(200, { pattern: oneLine, description: "Name of the office or company." }),
    tax_id: Type.String({
      minLength: 10,
      maxLength: 11,
      pattern: "^[0-9]{10,11}$",
      description: "VKN (10 digits) or TCKN (11 digits), with valid check digits.",
    }),
    package: oneOf(packages, "The requested package."),
    note: Type.Optional(text(2000, { pattern: manyLines, description: "A note to us." })),
    consents: closed({
      terms: Type.Boolean({ description: "The terms of service are accepted; must be true." }),
      privacy: Type.Boolean({ description: "The privacy notice (KVKK) was read; must be true." }),
      marketing: Type.Optional(Type.Boolean({ description: "We may send news by e-mail." })),
    }),
  },
  {
    title: "NewApplication",
    examples: [
      {
        kind: "accounting_office",
        full_name: "Ayşe Örnek",
        email: "ayse@ornek.example",
        phone: "0532 000 00 00",
        company_name: "Örnek Mali Müşavirlik",
        tax_id: "1234567808",
        package: "accountant",
        consents: { terms: true, privacy: true, marketing: false },
      },
    ],
  },
);

export type NewApplication = Static<typeof newApplication>;

export const applicationAccepted = closed(
  {
    id: uuid("The application's number."),
    status: oneOf(applicationStates, "State of the application."),
  },
  {
    title: "ApplicationAccepted",
    examples: [{ id: "0199c0de-0000-7000-8000-000000000001", status: "submitted" }],
  },
);

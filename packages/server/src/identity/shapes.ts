/** What sign-in looks like from outside: the shapes that its endpoints share. */

import { emailSchema, languageSchema, oneLinePattern, type PersonRow } from "../accounts/index.ts";
import { memberRoles } from "../declarations.ts";
import { cookieHeader, type NewCookie } from "../kernel/http/cookies.ts";
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
import { maxPasswordLength } from "./passwords.ts";
import { factorPattern } from "./second-factor.ts";
import type { SessionRow } from "./sessions.ts";

export const passwordSchema = text(maxPasswordLength, { description: "Password." });

export const factorCode = Type.String({
  minLength: 6,
  maxLength: 11,
  pattern: factorPattern,
  description: "Six digits of the authenticator or of an SMS, or a recovery code (`xxxxx-xxxxx`).",
});

export const sixDigits = Type.String({ minLength: 6, maxLength: 6, pattern: "^\\d{6}$", description: "Six digits." });

export const challengeId = uuid("For an SMS code: its `challenge_id`.");

export const linkToken = Type.String({
  minLength: 40,
  maxLength: 60,
  pattern: "^[a-z]{3}_[A-Za-z0-9_-]{43}$",
  description: "The part after `#` in the link of the mail.",
});

/** The seed's answer, with its type beside it. */
export const accessTokenReply = closed(
  {
    access_token: Type.String({
      maxLength: 4096,
      pattern: "^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$",
      description: "JWT. Keep it in memory.",
    }),
    token_type: oneOf(["Bearer"], "The scheme of the `Authorization` header."),
    expires_in: Type.Integer({ format: "int32", minimum: 1, maximum: 3600, description: "Seconds." }),
  },
  { title: "AccessToken" },
);

export const setCookieHeader = {
  "Set-Cookie": Type.String({
    maxLength: 1024,
    pattern: "^__Host-(refresh|device)=",
    description: "`__Host-refresh` and `__Host-device`: HttpOnly, Secure, SameSite=Strict, Path=/.",
  }),
};

export function cookies(...set: readonly NewCookie[]): { "Set-Cookie": string[] } {
  return { "Set-Cookie": set.map(cookieHeader) };
}

export const challengeReply = closed(
  {
    challenge_id: uuid("Send it together with the code."),
    expires_in: Type.Integer({ format: "int32", minimum: 1, maximum: 3600, description: "Seconds." }),
  },
  { title: "CodeChallenge" },
);

export const sessionSchema = closed(
  {
    id: uuid("Id of the session."),
    kind: oneOf(["api", "dashboard", "agent"], "The kind of its tokens."),
    client_id: nullable(uuid("The OAuth client of the session.")),
    current: Type.Boolean({ description: "Whether this is the session of the request." }),
    created_at: timestamp("When the account was created."),
    last_used_at: timestamp("When it was last refreshed."),
    expires_at: timestamp("When it expires if it is not used again."),
  },
  { title: "Session" },
);

/** What does not depend on who asks; its hash is the session's ETag. */
export function sessionFacts(row: SessionRow) {
  const ends = row.expires_at !== null && row.expires_at < row.idle_expires_at ? row.expires_at : row.idle_expires_at;
  return {
    id: row.id,
    kind: row.kind,
    client_id: row.client_id,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at.toISOString(),
    expires_at: ends.toISOString(),
  };
}

export function sessionShape(row: SessionRow, currentId: string): Static<typeof sessionSchema> {
  return { ...sessionFacts(row), current: row.id === currentId };
}

export const meSchema = closed(
  {
    id: uuid("Your id."),
    account_id: nullable(uuid("Your account; null for staff.")),
    role: oneOf([...memberRoles, "staff"], "Your role."),
    email: emailSchema,
    full_name: text(200, { pattern: oneLinePattern, description: "Your name." }),
    language: languageSchema,
    phone: nullable(identifier("^[+0-9*]+$", "Your phone; only its last four digits are shown.")),
    phone_verified: Type.Boolean({ description: "Whether codes can be sent by SMS." }),
    recovery_codes_left: Type.Integer({ format: "int32", minimum: 0, maximum: 100 }),
    version: Type.Integer({ format: "int32", minimum: 1, maximum: 2_147_483_647 }),
  },
  { title: "Me" },
);

export const totpSetup = closed(
  {
    totp_secret: identifier("^[A-Z2-7]+$", "The secret in base32, to type it in."),
    otpauth_uri: Type.String({ format: "uri", maxLength: 600, description: "For authenticators." }),
    qr_svg: Type.String({
      maxLength: 200_000,
      pattern: "^<svg",
      description: "The same as a QR code in SVG.",
    }),
    qr_png: Type.String({
      maxLength: 20_000,
      pattern: "^iVBORw0KGgo[A-Za-z0-9+/]*={0,2}$",
      description: "The same as a QR code in PNG, in base64.",
    }),
  },
  { title: "TotpSetup" },
);

export const recoveryCodes = Type.Array(identifier("^[a-z0-9]{5}-[a-z0-9]{5}$", "Works once, in place of a code."), {
  minItems: 10,
  maxItems: 10,
  description: "Shown only in this answer. Print the codes and do not keep them with the phone.",
});

export const recoveryCodesReply = closed({ recovery_codes: recoveryCodes }, { title: "RecoveryCodes" });

/** Masked but for the end: enough to recognise one's own. */
export function maskedPhone(phone: string | null): string | null {
  return phone === null ? null : `${phone.slice(0, 3)}${"*".repeat(phone.length - 7)}${phone.slice(-4)}`;
}

export const phoneInput = text(24, { minLength: 10, pattern: "^\\+?[0-9 ().-]+$", description: "Turkish mobile." });

export const enrolmentCompletion = closed(
  {
    token: linkToken,
    password: passwordSchema,
    totp_code: sixDigits,
    phone_challenge_id: Type.Optional(uuid("The `challenge_id` of the SMS code.")),
    phone_code: Type.Optional(sixDigits),
  },
  { title: "EnrolmentCompletion" },
);

export const passwordReset = closed({ token: linkToken, new_password: passwordSchema }, { title: "PasswordReset" });

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

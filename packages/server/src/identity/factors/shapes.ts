/** Passwords, codes and links as the API takes and shows them. */

import { closed, identifier, Type, text, uuid } from "../../kernel/http/schema.ts";
import { maxPasswordLength } from "./passwords.ts";
import { factorPattern } from "./second-factor.ts";

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

export const challengeReply = closed(
  {
    challenge_id: uuid("Send it together with the code."),
    expires_in: Type.Integer({ format: "int32", minimum: 1, maximum: 3600, description: "Seconds.", examples: [300] }),
  },
  { title: "CodeChallenge" },
);

const otpauthExample = "otpauth://totp/Emanet:ayse%40ornek.example?secret=JBSWY3DPEHPK3PXP&issuer=Emanet";

export const totpSetup = closed(
  {
    totp_secret: identifier("^[A-Z2-7]+$", "The secret in base32, to type it in.", "JBSWY3DPEHPK3PXP"),
    otpauth_uri: Type.String({
      format: "uri",
      maxLength: 600,
      description: "For authenticators.",
      examples: [otpauthExample],
    }),
    qr_svg: Type.String({
      maxLength: 200_000,
      pattern: "^<svg",
      description: "The same as a QR code in SVG.",
      examples: ['<svg xmlns="http://www.w3.org/2000/svg"></svg>'],
    }),
    qr_png: Type.String({
      maxLength: 20_000,
      pattern: "^iVBORw0KGgo[A-Za-z0-9+/]*={0,2}$",
      description: "The same as a QR code in PNG, in base64.",
      examples: ["iVBORw0KGgo="],
    }),
  },
  { title: "TotpSetup" },
);

export const recoveryCodes = Type.Array(identifier("^[a-z0-9]{5}-[a-z0-9]{5}$", "Works once, in place of a code."), {
  minItems: 10,
  maxItems: 10,
  description: "Shown only in this answer. Print the codes and do not keep them with the phone.",
  examples: [Array.from({ length: 10 }, (_, at) => `abcd${at}-efgh${at}`)],
});

export const recoveryCodesReply = closed({ recovery_codes: recoveryCodes }, { title: "RecoveryCodes" });

/** Masked but for the end: enough to recognise one's own. */
export function maskedPhone(phone: string | null): string | null {
  return phone === null ? null : `${phone.slice(0, 3)}${"*".repeat(phone.length - 7)}${phone.slice(-4)}`;
}

export const phoneInput = text(24, { minLength: 10, pattern: "^\\+?[0-9 ().-]+$", description: "Turkish mobile." });

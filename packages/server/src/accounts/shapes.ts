/** What accounts, members and clients look like from outside. */

import { memberRoles, oauthScopes } from "../declarations.ts";
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
import type { OauthScope } from "../kernel/principal.ts";
import type { ClientRow } from "./client-store.ts";
import type { PersonRow } from "./person-store.ts";
import type { AccountRow } from "./store.ts";

/** The packages, in the order of the price list. What each includes is data: the table `packages`. */
export const packages = ["starter", "professional", "accountant", "corporate"] as const;

/** No control characters: names go into mails and lists. */
export const oneLinePattern = "^[^\\u0000-\\u001f\\u007f]+$";

export const languageSchema = oneOf(["tr", "en"], "Language of mails and messages.");

export const accountSchema = closed(
  {
    id: uuid("Id of the account."),
    kind: oneOf(["accounting_office", "company"], "The kind of customer."),
    name: text(200, {
      pattern: oneLinePattern,
      description: "Name of the office or company.",
      examples: ["Örnek Mali Müşavirlik"],
    }),
    tax_id: identifier("^[0-9*]{10,11}$", "Tax number; only its last four digits are shown.", "******7808"),
    package: oneOf(packages, "The package."),
    entitlements: Type.Array(identifier("^[a-z_]+$", "An entitlement.", "api"), {
      maxItems: 50,
      description: "The features that the account may use: those of its package, with the overrides of this account.",
    }),
    state: oneOf(
      ["active", "suspended", "closed"],
      "A suspended account can read and restore, but not write; a closed one too, until `erase_after`.",
    ),
    erase_after: nullable(timestamp("When the vaults of a closed account are erased.")),
    early_access: Type.Boolean({ description: "Planned limits never refuse, and webhooks are off." }),
    sms_sign_in: Type.Boolean({ description: "SMS codes can replace the authenticator at sign-in." }),
    language: languageSchema,
    created_at: timestamp("When the account was created."),
    version: Type.Integer({ format: "int32", minimum: 1, maximum: 2_147_483_647 }),
  },
  { title: "Account" },
);

export function accountShape(row: AccountRow): Static<typeof accountSchema> {
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    tax_id: maskedTaxId(row.tax_id),
    package: row.package as (typeof packages)[number],
    entitlements: [...row.entitlements],
    state: row.state,
    erase_after: row.erase_after?.toISOString() ?? null,
    early_access: row.early_access,
    sms_sign_in: row.sms_sign_in,
    language: row.language,
    created_at: row.created_at.toISOString(),
    version: row.version,
  };
}

/** Enough to recognise one's own, too little to use. */
export function maskedTaxId(taxId: string): string {
  return taxId.slice(-4).padStart(taxId.length, "*");
}

export const roleSchema = oneOf(memberRoles, "The role of the member; see the table of roles.");

/** RFC 5321: 254 characters, of which 64 before the sign; mail servers refuse longer ones. */
export const emailSchema = Type.String({
  format: "email",
  minLength: 6,
  maxLength: 254,
  pattern: "^[^@]{1,64}@",
  description: "E-mail address.",
});

export const memberSchema = closed(
  {
    id: uuid("Id of the member."),
    email: emailSchema,
    full_name: text(200, { pattern: oneLinePattern, description: "Name.", examples: ["Ayşe Örnek"] }),
    role: roleSchema,
    state: oneOf(["invited", "active", "removed"], "`invited` until the person has used the enrolment link."),
    phone_verified: Type.Boolean({ description: "Whether codes can be sent by SMS." }),
    created_at: timestamp("When they were invited."),
    version: Type.Integer({ format: "int32", minimum: 1, maximum: 2_147_483_647 }),
  },
  { title: "Member" },
);

export function memberShape(row: PersonRow): Static<typeof memberSchema> {
  if (row.role === "staff") throw new Error("staff are no members");
  return {
    id: row.id,
    email: row.email,
    full_name: row.full_name,
    role: row.role,
    state: row.state,
    phone_verified: row.phone_verified_at !== null,
    created_at: row.created_at.toISOString(),
    version: row.version,
  };
}

const scopeNames = Object.keys(oauthScopes) as OauthScope[];

export const scopesSchema = Type.Array(oneOf(scopeNames, "A scope."), {
  minItems: 1,
  maxItems: scopeNames.length,
  uniqueItems: true,
  description: "Scopes.",
});

export const grantTypes = ["client_credentials", "authorization_code"] as const;

/** The product's own ceiling on a restriction list. */
export const maxClientVaults = 500;

const redirectUri = Type.String({
  format: "uri",
  maxLength: 500,
  pattern: "^(https://[^#]+|http://(127\\.0\\.0\\.1|\\[::1\\])(:[0-9]+)?/[^#]*)$",
  description: "https, or http on a loopback address. The whole URI is compared.",
  examples: ["https://defter.ornek.example/callback"],
});

export const clientFields = {
  name: text(200, { pattern: oneLinePattern, description: "Name of the client.", examples: ["Defter"] }),
  scopes: scopesSchema,
  role: oneOf(memberRoles, "The role limits what the client may do, in addition to its scopes."),
  vault_ids: nullable(
    Type.Array(uuid("Id of a vault."), {
      maxItems: maxClientVaults,
      uniqueItems: true,
      description: "The vaults that it may access; null for all.",
    }),
  ),
  redirect_uris: Type.Array(redirectUri, { maxItems: 10, uniqueItems: true, description: "For `authorization_code`." }),
  grant_types: Type.Array(oneOf(grantTypes, "How the client gets tokens."), {
    minItems: 1,
    maxItems: 2,
    uniqueItems: true,
  }),
  auth_method: oneOf(["client_secret", "private_key_jwt", "none"], "How the client authenticates."),
};

export const publicKeySet = closed(
  {
    keys: Type.Array(
      closed({
        kty: oneOf(["EC"], "Elliptic curve."),
        crv: oneOf(["P-256"], "For ES256."),
        x: identifier("^[A-Za-z0-9_-]{43}$", "Coordinate."),
        y: identifier("^[A-Za-z0-9_-]{43}$", "Coordinate."),
        kid: Type.Optional(identifier("^[A-Za-z0-9_.-]+$", "Name of the key.")),
        alg: Type.Optional(oneOf(["ES256"], "Algorithm.")),
        use: Type.Optional(oneOf(["sig"], "Use.")),
      }),
      { minItems: 1, maxItems: 4 },
    ),
  },
  { description: "Public keys of `private_key_jwt` (RFC 7517)." },
);

export const clientSchema = closed(
  {
    id: uuid("The `client_id`."),
    ...clientFields,
    jwks: nullable(publicKeySet),
    created_at: timestamp("When it was made."),
    last_used_at: nullable(timestamp("When the client last got a token, to the minute.")),
    responsible_id: nullable(uuid("The member responsible for it: its creator, or the owner who last reviewed it.")),
    review_since: nullable(
      timestamp(
        "Set while the client waits for a review by an owner, because the responsible member left or lost rights. Until the review it can only write snapshots.",
      ),
    ),
    version: Type.Integer({ format: "int32", minimum: 1, maximum: 2_147_483_647 }),
  },
  { title: "OauthClient" },
);

export function clientShape(row: ClientRow): Static<typeof clientSchema> {
  if (row.role === null) throw new Error("the service's own client belongs to no account");
  return {
    id: row.id,
    name: row.name,
    scopes: row.scopes as OauthScope[],
    role: row.role,
    vault_ids: row.vault_ids === null ? null : [...row.vault_ids],
    redirect_uris: [...row.redirect_uris],
    grant_types: row.grant_types as (typeof grantTypes)[number][],
    auth_method: row.auth_method,
    jwks: row.jwks as Static<typeof publicKeySet> | null,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
    responsible_id: row.responsible_id,
    review_since: row.review_since?.toISOString() ?? null,
    version: row.version,
  };
}

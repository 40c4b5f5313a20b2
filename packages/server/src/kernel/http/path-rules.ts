/**
 * Rules for all addresses below a path, also for addresses where no endpoint exists. A domain declares its rule in its
 * `paths.ts`; `declarations.ts` collects them.
 */

import type { PolicyName } from "../limits/policies.ts";

/** Only staff get another answer than 401 or 403 here, so that others cannot find out which addresses exist. */
export interface StaffOnlyPath {
  /** For example `/v1/admin`. */
  readonly prefix: string;
  /** The policy that counts what each of the staff reads here. */
  readonly readPolicy: PolicyName;
}

/** Addresses of the OAuth server. Errors have the form of RFC 6749 here. */
export interface OauthPath {
  /** For example `/oauth2/`. */
  readonly prefix: string;
  /** For the OpenAPI document. */
  readonly description: string;
  readonly tokenUrl: string;
  readonly authorizationUrl: string;
}

export interface PathRules {
  readonly staffOnly: StaffOnlyPath;
  readonly oauth: OauthPath;
}

/** Path and query together. File paths have 4096 bytes, three characters each when percent-encoded, and some query. */
export const maxUrlLength = 16_384;

export function isOauthPath({ oauth }: PathRules, url: string): boolean {
  return url.startsWith(oauth.prefix);
}

/**
 * Whether an address is below the staff-only path in any spelling that a proxy or a router might read that way:
 * percent-encoded (also more than once), with doubled or backward slashes, with dots, or in capitals.
 */
export function isStaffOnlyPath({ staffOnly }: PathRules, url: string): boolean {
  let path = url.split(/[?#]/, 1)[0] ?? "";
  // Without these there is only one way to read the path.
  if (!/[%\\A-Z]|\/[./]/.test(path)) return `${path}/`.startsWith(`${staffOnly.prefix}/`);
  for (let round = 0; round < maxDecodingRounds && path.includes("%"); round++) {
    path = path.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
  const parts: string[] = [];
  for (const part of path.toLowerCase().split(/[/\\]/)) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}/`.startsWith(`${staffOnly.prefix}/`);
}

/** Clients encode an address once. An address that is still encoded after this many rounds matches no route. */
const maxDecodingRounds = 5;

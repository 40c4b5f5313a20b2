/**
 * The cookies of the service. All but one have the prefix `__Host-`, so that a browser takes them from this host over TLS only
 * and sends them to no other, and none can be read by a page's scripts. Requests with cookies from other origins are
 * refused: a page elsewhere must not make a browser act with them.
 *
 * The cookie of a download is sent to one address only, so it has the prefix `__Secure-`. Who does not know the address cannot make a
 * browser send it, so other origins are not refused (`anyOrigin`).
 */

import type { IncomingHttpHeaders } from "node:http";
import { Problem } from "../problems.ts";

export const cookieNames = ["__Host-refresh", "__Host-device", "__Host-link", "__Secure-download"] as const;
export type CookieName = (typeof cookieNames)[number];

export interface NewCookie {
  readonly name: CookieName;
  /** base64url; empty to remove it. */
  readonly value: string;
  readonly maxAgeSeconds: number;
}

/** Longer than any value of ours; what is longer was not set here. */
const maxCookieLength = 512;

/** The value of a `Set-Cookie` header. */
export function cookieHeader({ name, value, maxAgeSeconds }: NewCookie): string {
  return `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; Secure; SameSite=Strict`;
}

/** The same for a cookie of one path. It is sent also where a link of another site leads to the path. */
export function pathCookieHeader(path: string, { name, value, maxAgeSeconds }: NewCookie): string {
  return `${name}=${value}; Path=${path}; Max-Age=${maxAgeSeconds}; HttpOnly; Secure; SameSite=Lax`;
}

/** The cookies of these names that a request carries; of two with one name the first, as browsers order them. */
export function readCookies(
  headers: IncomingHttpHeaders,
  names: readonly CookieName[] = [],
): Partial<Record<CookieName, string>> {
  const found: Partial<Record<CookieName, string>> = {};
  if (names.length === 0 || headers.cookie === undefined) return found;
  for (const pair of headers.cookie.split(";")) {
    const at = pair.indexOf("=");
    const name = names.find((known) => known === pair.slice(0, at).trim());
    const value = pair.slice(at + 1).trim();
    if (name !== undefined && value.length <= maxCookieLength) found[name] ??= value;
  }
  return found;
}

/** Refuses a request that a page of another origin made a browser send. Programs send neither header. */
export function requireOwnOrigin(headers: IncomingHttpHeaders, ownOrigin: string): void {
  if (isFromForeignPage(headers, ownOrigin)) throw new Problem("origin_not_allowed");
}

/**
 * Whether a page of another origin made a browser send the request: by an image, a script, a form, a link. Another host of
 * the same site is another origin too.
 */
export function isFromForeignPage(headers: IncomingHttpHeaders, ownOrigin: string): boolean {
  const { origin, "sec-fetch-site": site } = headers;
  if (origin !== undefined && origin !== ownOrigin) return true;
  return site !== undefined && site !== "same-origin" && site !== "none";
}

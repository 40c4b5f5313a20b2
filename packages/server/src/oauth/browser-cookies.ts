/**
 * The cookies that bind an interaction to the browser that started it. The library would put the interaction's id into
 * them. But that id is also in the URL of the pages, so a leaked URL would open the page for anybody. So the browser gets
 * a keyed hash of the id, which only the service can compute. The library gets the id when the hash is right.
 *
 * The library's session contains only the token of the form for user codes, and only that form uses it. So an earlier
 * person in the same browser, or a planted session, cannot affect a later request.
 */

import { timingSafeEqual } from "node:crypto";
import type { Ctx, RawCall } from "../kernel/http/endpoint.ts";
import { cookieNames } from "./provider.ts";

type Keys = Pick<Ctx, "secrets">;
type InteractionCookie = "interaction" | "resume";

/** Whether the browser has the cookie of this interaction. */
export function isBrowserOf(ctx: Keys, raw: RawCall, cookie: InteractionCookie, uid: string): boolean {
  const expected = Buffer.from(secretOf(ctx, cookieNames[cookie], uid));
  const actual = Buffer.from(cookieOf(raw, cookieNames[cookie]) ?? "");
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

/** The cookies for the library when a browser returns after the decision: the interaction, if the browser owns it. */
export function resumeCookie(ctx: Keys, raw: RawCall, uid: string): string | undefined {
  return isBrowserOf(ctx, raw, "resume", uid) ? `${cookieNames.resume}=${uid}` : undefined;
}

/** The cookies for the library with the form for user codes. */
export function sessionCookie(raw: RawCall): string | undefined {
  const session = cookieOf(raw, cookieNames.session);
  return session === undefined ? undefined : `${cookieNames.session}=${session}`;
}

/** Converts the library's cookies for the browser: replaces interaction ids; expired cookies stay unchanged. */
export function browserCookies(ctx: Keys, cookies: readonly string[]): string[] {
  return cookies.map((cookie) => {
    const name = [cookieNames.interaction, cookieNames.resume].find((known) => cookie.startsWith(`${known}=`));
    return name === undefined
      ? cookie
      : cookie.replace(/=([^;]+)/, (_pair, uid: string) => `=${secretOf(ctx, name, uid)}`);
  });
}

function secretOf({ secrets }: Keys, name: string, uid: string): string {
  return secrets.digest("oauth-browser", `${name}\n${uid}`).toString("base64url");
}

function cookieOf({ headers }: RawCall, name: string): string | undefined {
  const pair = (headers.cookie ?? "").split(";").find((part) => part.trim().startsWith(`${name}=`));
  return pair?.trim().slice(name.length + 1);
}

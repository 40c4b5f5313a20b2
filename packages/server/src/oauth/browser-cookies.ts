/**
 * The cookies that bind an interaction to the browser that began it. The library would put the interaction's id into
 * them, and that id stands in the address of the pages: a leaked address would open the page for anybody. So the browser
 * gets a keyed hash of the id, which only we can make, and the library gets the id back once the two agree.
 *
 * The library's session carries the token of the form for user codes, and nothing else: it is handed on to that form
 * alone. An earlier person in the same browser, or a session that was planted there, has no say in a later request.
 */

import { timingSafeEqual } from "node:crypto";
import type { Ctx, RawCall } from "../kernel/http/endpoint.ts";
import { cookieNames } from "./provider.ts";

type Keys = Pick<Ctx, "secrets">;
type InteractionCookie = "interaction" | "resume";

/** Whether the browser holds the cookie of this interaction. */
export function isBrowserOf(ctx: Keys, raw: RawCall, cookie: InteractionCookie, uid: string): boolean {
  const expected = Buffer.from(secretOf(ctx, cookieNames[cookie], uid));
  const actual = Buffer.from(cookieOf(raw, cookieNames[cookie]) ?? "");
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

/** What the library is told when a browser comes back from a decision: which interaction, if it is its own. */
export function resumeCookie(ctx: Keys, raw: RawCall, uid: string): string | undefined {
  return isBrowserOf(ctx, raw, "resume", uid) ? `${cookieNames.resume}=${uid}` : undefined;
}

/** What the library is told with the form for user codes. */
export function sessionCookie(raw: RawCall): string | undefined {
  const session = cookieOf(raw, cookieNames.session);
  return session === undefined ? undefined : `${cookieNames.session}=${session}`;
}

/** The library's cookies as the browser gets them: ids of interactions are replaced, those that end stay as they are. */
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

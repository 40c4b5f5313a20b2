/**
 * The session of this browser. The access token is in memory only. A cookie that scripts cannot read renews it.
 *
 * Of several tabs one renews: it holds a lock of the browser, and gives the new token to the others over a channel that only
 * pages of this origin hear. States: *unknown* (the page was just opened and a session may exist) → *in* or *out*;
 * *in* → *over* (the service ended the session; the page stays, and sign-in comes over it) or *out* (signed out here or in
 * another tab).
 */

import { type AccessToken, type Credentials, isProblem, type TokenRequest } from "@emanet/client/source";
import { observable } from "../observable.ts";
import { now, remember, remembered } from "../platform.ts";

export type SessionState = "unknown" | "in" | "out" | "over";

interface Held {
  readonly token: string;
  readonly until: number;
}

type Message = { readonly kind: "token"; readonly held: Held } | { readonly kind: "out" };

/** A token is renewed this long before it expires, so that it does not expire on its way. */
const marginMs = 30_000;

const lockName = "emanet-refresh";

/** Without a sign of an earlier session nothing is asked: the answer would be an error. */
export const sessionState = observable<SessionState>(remembered("session") === null ? "out" : "unknown");

let held: Held | null = null;
let renewal: Promise<string> | null = null;

const channel = new BroadcastChannel("emanet-session");
channel.addEventListener("message", ({ data }: MessageEvent<Message>) => {
  if (data.kind === "token") hold(data.held);
  else end("out");
});

/** How the client of the API signs its requests. */
export const sessionCredentials: Credentials = {
  async token(request) {
    const state = sessionState.get();
    if (state === "out" || state === "over") return undefined;
    return validToken() ?? renew(request);
  },
  renew(refused) {
    if (held?.token === refused) held = null;
    return true;
  },
};

/** The answer of a sign-in or of a step-up: used from now on, in all tabs. */
export function takeAnswer(answer: AccessToken): void {
  const next = heldOf(answer, now());
  hold(next);
  channel.postMessage({ kind: "token", held: next } satisfies Message);
}

/** Signed out: in all tabs. */
export function forgetSession(): void {
  channel.postMessage({ kind: "out" } satisfies Message);
  end("out");
}

function hold(next: Held): void {
  held = next;
  remember("session", "1");
  sessionState.set("in");
}

function end(state: "out" | "over"): void {
  held = null;
  remember("session", null);
  sessionState.set(state);
}

function validToken(): string | undefined {
  return held !== null && now() < held.until ? held.token : undefined;
}

function heldOf({ access_token: token, expires_in: seconds }: AccessToken, askedAt: number): Held {
  return { token, until: askedAt + Math.max(seconds * 1000 - marginMs, (seconds * 1000) / 2) };
}

function renew({ send }: TokenRequest): Promise<string> {
  renewal ??= navigator.locks
    .request(lockName, () => renewAlone(send))
    .finally(() => {
      renewal = null;
    });
  return renewal;
}

async function renewAlone(send: TokenRequest["send"]): Promise<string> {
  // Another tab may have renewed it while this one waited for the lock; its message comes first.
  await new Promise((resolve) => setTimeout(resolve, 0));
  const given = validToken();
  if (given !== undefined) return given;
  const wasKnown = sessionState.get() === "in";
  try {
    const askedAt = now();
    const { response } = await send({ method: "POST", path: "/v1/auth/refresh", anonymous: true });
    const answer = (await response.json()) as AccessToken;
    const next = heldOf(answer, askedAt);
    hold(next);
    channel.postMessage({ kind: "token", held: next } satisfies Message);
    return next.token;
  } catch (error) {
    if (isProblem(error) && error.code.startsWith("refresh_token_")) end(wasKnown ? "over" : "out");
    throw error;
  }
}

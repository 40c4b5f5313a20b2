/** `POST /v1/auth/logout`: ends the session of the refresh cookie. */

import { endpoint } from "../../../kernel/http/endpoint.ts";
import { noRefreshCookie, sessionOfToken } from "../refresh-tokens.ts";
import { cookies, setCookieHeader } from "../shapes.ts";
import { scopeOfPerson } from "../sign-in.ts";
import { findLiveSession, revokeSession } from "../store.ts";

export const logOut = endpoint(
  {
    id: "auth.logout",
    method: "POST",
    path: "/v1/auth/logout",
    tag: "auth",
    summary: "Log out",
    description:
      "Ends the session of the refresh cookie, or of the access token if there is no cookie, and deletes the cookie. Access tokens of the session are refused from then on. The answer is the same when there is no session to end.",
    access: { kind: "public" },
    cookies: ["__Host-refresh"],
    idempotency: "none",
    replies: { 204: { description: "Logged out.", empty: true, headers: setCookieHeader } },
  },
  async (ctx, { cookies: sent, principal }) => {
    const byCookie = sessionOfToken(ctx.secrets, sent["__Host-refresh"] ?? "");
    const id = byCookie ?? ("sessionId" in principal ? principal.sessionId : null);
    const session = id === null ? undefined : await ctx.tx({ kind: "system" }, (tx) => findLiveSession(tx, id));
    if (session !== undefined) {
      await ctx.tx(scopeOfPerson(session), async (tx) => {
        if (!(await revokeSession(tx, session.id, "logout"))) return;
        tx.audit({
          action: "session.ended",
          targets: [{ type: "session", id: session.id }],
          metadata: { by: "logout" },
        });
      });
    }
    return { status: 204, headers: cookies(noRefreshCookie) };
  },
);

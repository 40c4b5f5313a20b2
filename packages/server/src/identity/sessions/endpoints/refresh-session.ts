/** `POST /v1/auth/refresh`: the refresh cookie for a new access token and the next refresh cookie. */

import { findPerson } from "../../../accounts/index.ts";
import { type Ctx, endpoint } from "../../../kernel/http/endpoint.ts";
import { Problem } from "../../../kernel/problems.ts";
import { mailMessage, sendMessage } from "../../../messages/index.ts";
import { accessTokenOf } from "../access-tokens.ts";
import { tokenReply } from "../open-session.ts";
import { refreshCookie } from "../refresh-tokens.ts";
import { accessTokenReply, cookies, setCookieHeader } from "../shapes.ts";
import { scopeOfPerson } from "../sign-in.ts";
import { revokeSession, rotateRefreshToken, type SessionRow } from "../store.ts";

export const refreshSession = endpoint(
  {
    id: "auth.refresh",
    method: "POST",
    path: "/v1/auth/refresh",
    tag: "auth",
    summary: "Renew the access token",
    description:
      "Uses the refresh cookie and takes no body (an empty JSON object counts as none). Each use replaces the cookie. For 30 seconds the previous cookie gets the same successor (two tabs, a lost answer). An older cookie ends the whole session.",
    access: { kind: "public" },
    cookies: ["__Host-refresh"],
    idempotency: "none",
    replies: { 200: { description: "A new access token.", body: accessTokenReply, headers: setCookieHeader } },
    errors: ["refresh_token_missing", "refresh_token_invalid", "refresh_token_reused"],
  },
  async (ctx, { cookies: sent }) => {
    const token = sent["__Host-refresh"];
    if (token === undefined || token === "") throw new Problem("refresh_token_missing");
    const rotation = await ctx.tx({ kind: "system" }, (tx) => rotateRefreshToken(tx, ctx.secrets, token));
    if (rotation.kind === "invalid") throw new Problem("refresh_token_invalid");
    const { session } = rotation;
    if (rotation.kind === "reused") {
      await endFamily(ctx, session);
      throw new Problem("refresh_token_reused");
    }
    if (rotation.kind === "repeated") await note(ctx, session);
    if (!(await mayGoOn(ctx, session))) throw new Problem("refresh_token_invalid");
    const reply = tokenReply(await accessTokenOf(ctx, session));
    return { status: 200, body: reply, headers: cookies(refreshCookie(rotation.token, session)) };
  },
);

async function mayGoOn(ctx: Ctx, session: SessionRow): Promise<boolean> {
  const id = session.person_id;
  if (id === null) return false;
  const person = await ctx.tx(scopeOfPerson(session), (tx) => findPerson(tx, session.account_id, id));
  return person?.state === "active";
}

/** The cookie was copied: the session ends for both holders. */
async function endFamily(ctx: Ctx, session: SessionRow): Promise<void> {
  await ctx.tx(scopeOfPerson(session), async (tx) => {
    if (!(await revokeSession(tx, session.id, "reused"))) return;
    const targets = [{ type: "session", id: session.id }];
    tx.audit({ action: "session.refresh_reused", targets, outcome: "failure" });
    const person = session.person_id && (await findPerson(tx, session.account_id, session.person_id));
    if (!person) return;
    const { email: to, language } = person;
    const values = { at: tx.now.toISOString() };
    const payload = mailMessage({ id: ctx.random.uuid(), to, language, template: "session_reused", values });
    await tx.job({ task: sendMessage, payload });
  });
}

/** The previous token was used again within the allowed time: accepted, with an audit record. */
async function note(ctx: Ctx, session: SessionRow): Promise<void> {
  await ctx.tx(scopeOfPerson(session), async (tx) => {
    tx.audit({ action: "session.refresh_repeated", targets: [{ type: "session", id: session.id }] });
  });
}

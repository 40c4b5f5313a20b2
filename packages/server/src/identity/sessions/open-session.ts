/** A person's session, opened after a sign-in, and the answer that login and refresh share. */

import type { NewCookie } from "../../kernel/http/cookies.ts";
import type { Ctx } from "../../kernel/http/endpoint.ts";
import type { IssuedToken } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { areCredentialsCurrent } from "../factors/index.ts";
import { accessTokenOf } from "./access-tokens.ts";
import { firstRefreshToken, refreshCookie } from "./refresh-tokens.ts";
import { type SignedIn, scopeOfPerson } from "./sign-in.ts";
import { findLiveSession, insertSession } from "./store.ts";

export interface TokenReply {
  readonly access_token: string;
  readonly token_type: "Bearer";
  readonly expires_in: number;
}

export function tokenReply({ token, expiresInSeconds }: IssuedToken): TokenReply {
  return { access_token: token, token_type: "Bearer", expires_in: expiresInSeconds };
}

/** Opens the session; returns the body of the answer and the cookie. */
export async function openPersonSession(
  ctx: Pick<Ctx, "tx" | "secrets" | "random" | "tokens">,
  signedIn: SignedIn,
  kind: "api" | "dashboard",
): Promise<{ readonly reply: TokenReply; readonly cookie: NewCookie }> {
  const { personId, accountId, amr, authTime, credentialsAt } = signedIn;
  const id = ctx.random.uuid();
  const session = await ctx.tx(scopeOfPerson({ account_id: accountId }), async (tx) => {
    // Of a reset and a sign-in at the same moment, the reset wins: it ends the sessions that it finds.
    if (!(await areCredentialsCurrent(tx, personId, credentialsAt))) throw new Problem("invalid_credentials");
    const life = accountId === null ? "staff" : "member";
    const who = { id, accountId, personId, clientId: null, scopes: null };
    await insertSession(tx, ctx.secrets, { ...who, kind, amr, authTime, life });
    tx.audit({ action: "session.opened", targets: [{ type: "session", id }], metadata: { kind } });
    return findLiveSession(tx, id);
  });
  if (session === undefined) throw new Problem("internal_error");
  const reply = tokenReply(await accessTokenOf(ctx, session));
  return { reply, cookie: refreshCookie(firstRefreshToken(ctx.secrets, id), session) };
}

/** The access token of a session: who it is issued to, and for which scopes. */

import { oauthScopes } from "../../declarations.ts";
import type { Ctx } from "../../kernel/http/endpoint.ts";
import type { OauthScope } from "../../kernel/principal.ts";
import type { SessionRow } from "./store.ts";

/** The access token of a person's session, with the scopes of the session; `held` bounds them further. */
export async function accessTokenOf(
  ctx: Pick<Ctx, "tokens">,
  session: SessionRow,
  held: ReadonlySet<OauthScope> | null = null,
) {
  const all = Object.keys(oauthScopes) as OauthScope[];
  const scopes = (session.scopes ?? all).filter((scope) => held === null || held.has(scope as OauthScope));
  return ctx.tokens.issue({
    subject: session.person_id ?? session.client_id ?? session.id,
    sessionId: session.id,
    clientId: session.client_id ?? `emanet-${session.kind}`,
    accountId: session.account_id,
    scopes: session.account_id === null ? [] : scopes,
    amr: session.amr,
    authTime: session.auth_time,
  });
}

/** `POST /oauth2/introspect` (RFC 7662), for refresh tokens and for our JWTs. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { presentedClaims, rawOf, replyOf, withLibrary } from "../library.ts";
import type { LibraryContext } from "../library-context.ts";
import type { LiveToken, NewGrant } from "../ports.ts";
import { withTokenHandle } from "../requests.ts";
import { introspection, tokenOnlyForm } from "../shapes.ts";

export const introspectToken: Endpoint = {
  spec: {
    id: "oauth.introspect",
    method: "POST",
    path: "/oauth2/introspect",
    tag: "oauth",
    summary: "Introspect a token",
    description:
      "RFC 7662. Only for authenticated clients, for their own tokens and those of their account. Any other token is `active: false`.",
    access: { kind: "public" },
    idempotency: "none",
    wire: "oauth",
    form: tokenOnlyForm,
    replies: { 200: { description: "The data of the token.", body: introspection } },
  },
  handle: async (ctx, call) => {
    const { form, jwt } = withTokenHandle(new URLSearchParams(rawOf(call).form));
    const presented = await presentedClaims(ctx, jwt);
    return withLibrary(ctx, call, { accept: "application/json", presented }, async ({ send, context }) => {
      const reply = replyOf(await send({ form: form.toString() }));
      const { active } = (reply.body ?? {}) as { active?: boolean };
      return active === true ? { ...reply, body: { active, ...described(context, reply.body) } } : reply;
    });
  },
};

/** The facts as our tokens state them; the library knows them under other names and in its own time. */
function described(context: LibraryContext, body: unknown): Record<string, unknown> {
  const { found, ctx } = context;
  const iss = `${ctx.publicUrl}/oauth2`;
  if (found.token !== undefined)
    return { iss, aud: ctx.publicUrl, token_type: "Bearer", ...ofAccessToken(found.token) };
  if (found.grant === undefined) throw new Error("a token is active and belongs to nothing");
  return { iss, ...ofRefreshToken(context, found.grant, body) };
}

function ofAccessToken({ claims, scopes, accountId }: LiveToken): Record<string, unknown> {
  return {
    scope: scopes.join(" "),
    client_id: claims.clientId,
    exp: Math.floor(claims.expiresAt.getTime() / 1000),
    iat: Math.floor(claims.issuedAt.getTime() / 1000),
    sub: claims.sub,
    jti: claims.jti,
    sid: claims.sessionId,
    acct: accountId,
  };
}

function ofRefreshToken({ tx, libraryClock }: LibraryContext, grant: NewGrant, body: unknown): Record<string, unknown> {
  const { scope, exp = 0, iat = 0 } = body as { scope?: string; exp?: number; iat?: number };
  const offset = Math.round((tx.now.getTime() - libraryClock.now().getTime()) / 1000);
  return {
    scope: scope ?? "",
    client_id: grant.clientId,
    exp: exp + offset,
    iat: iat + offset,
    sub: grant.memberId,
    sid: grant.id,
    acct: grant.accountId,
  };
}

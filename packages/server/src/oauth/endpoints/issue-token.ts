/**
 * `POST /oauth2/token`: the library checks the client and the grant; the access token is ours. The library also makes one;
 * it is neither stored nor sent.
 */

import type { Ctx, Endpoint, Reply } from "../../kernel/http/endpoint.ts";
import type { LaterSubject } from "../../kernel/limits/limiter.ts";
import type { AccessTokenContent } from "../../kernel/principal.ts";
import { findLimitedAccount } from "../../limits/index.ts";
import { isTooSoon } from "../device-polls.ts";
import { rawOf, replyOf, withLibrary } from "../library.ts";
import type { LibraryContext } from "../library-context.ts";
import { knownScopes } from "../library-pages.ts";
import { claimedClient, withKnownScopes, withScopes } from "../requests.ts";
import { tokenAnswer, tokenForm } from "../shapes.ts";

export const issueToken: Endpoint = {
  spec: {
    id: "oauth.token",
    method: "POST",
    path: "/oauth2/token",
    tag: "oauth",
    summary: "Obtain an access token",
    description:
      "OAuth 2.0 (RFC 6749, 7636, 8628). Clients authenticate with HTTP Basic, in the form, or with a signed assertion (`private_key_jwt`). There is no `password` grant. Each use of a refresh token returns the next one. For 30 seconds the previous token gets the same successor (two uses at once, a lost answer). An older token ends the grant and all its tokens. 60 requests a minute per account; failed requests count per client address.",
    access: { kind: "public" },
    contentLimits: ["token"],
    idempotency: "none",
    wire: "oauth",
    form: tokenForm,
    replies: { 200: { description: "The token.", body: tokenAnswer } },
  },
  handle: async (ctx, call) => {
    const { form, headers } = rawOf(call);
    const parameters = new URLSearchParams(form);
    const clientId = claimedClient(parameters, headers.authorization);
    // Before anything is spent: without keys there is no token.
    await ctx.tokens.publicKeys();
    const isRefresh = parameters.get("grant_type") === "refresh_token";
    const options = { accept: "application/json", isRefresh } as const;
    const outcome = await withLibrary(ctx, call, options, async ({ send, context }) => {
      const changed = await prepared(context, parameters, clientId);
      const reply = await slowedDown(context, parameters, replyOf(await send({ form: changed.toString() })));
      const subject = await subjectOf(context, reply);
      if (reply.status !== 200) return { reply, content: null, subject };
      // Inside the transaction: when it is refused, nothing was redeemed.
      await ctx.spend(["token"], subject);
      return { reply, content: await contentOf(context, reply), subject };
    });
    if (outcome.content !== null) return withOurToken(ctx, outcome.reply, outcome.content);
    // After the transaction: a grant that a failure ended (its token was used twice) stays ended.
    await ctx.spend(["token"], outcome.subject);
    return outcome.reply;
  },
};

/**
 * The subject of the limits: the account after a successful authentication; the client and the address for a client
 * without a secret; only the address after a failed authentication.
 */
async function subjectOf({ found, tx }: LibraryContext, reply: Reply): Promise<LaterSubject> {
  if (found.client === undefined || reply.status === 401) return { address: true };
  const accountId = found.grant?.accountId ?? found.client.accountId;
  if (accountId === null || (reply.status !== 200 && found.client.authentication === "none")) return found.client.id;
  return { accountId, account: await findLimitedAccount(tx, accountId) };
}

async function prepared(context: LibraryContext, parameters: URLSearchParams, clientId: string | undefined) {
  switch (parameters.get("grant_type")) {
    case "client_credentials": {
      const client = clientId === undefined ? undefined : await context.ports.clients.find(clientId);
      return client === undefined ? parameters : withScopes(parameters, client.scopes);
    }
    case "refresh_token":
      return withKnownScopes(parameters);
    default:
      return parameters;
  }
}

/** A device that polls too early, before the decision, gets `slow_down`. */
async function slowedDown(context: LibraryContext, parameters: URLSearchParams, reply: ReturnType<typeof replyOf>) {
  const { error } = (reply.body ?? {}) as { error?: string };
  if (error !== "authorization_pending" || !(await isTooSoon(context, parameters.get("device_code") ?? "")))
    return reply;
  const description = "the device asks too often; add five seconds to its interval";
  return { ...reply, body: { error: "slow_down", error_description: description } };
}

async function contentOf({ found, ports }: LibraryContext, reply: Reply): Promise<AccessTokenContent> {
  const scopes = knownScopes((reply.body as { scope?: string }).scope);
  if (found.client === undefined) throw new Error("the OAuth library answered with a token and looked up no client");
  return found.grant === undefined
    ? ports.tokens.forClient(found.client, scopes)
    : ports.tokens.forGrant(found.grant, scopes);
}

async function withOurToken(ctx: Ctx, reply: Reply, content: AccessTokenContent): Promise<Reply> {
  const { token, expiresInSeconds } = await ctx.tokens.issue(content);
  const { refresh_token } = reply.body as { refresh_token?: string };
  return {
    ...reply,
    // RFC 6749, section 5.1.
    headers: { ...reply.headers, pragma: "no-cache" },
    body: {
      access_token: token,
      token_type: "Bearer",
      expires_in: expiresInSeconds,
      scope: content.scopes.join(" "),
      ...(refresh_token !== undefined && { refresh_token }),
    },
  };
}

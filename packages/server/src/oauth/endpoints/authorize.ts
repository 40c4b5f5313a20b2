/**
 * `GET /oauth2/authorize`: a browser arrives with a request of an application, and is sent on to sign in and decide.
 * Each request starts afresh. No earlier sign-in or consent counts, so nothing is allowed without the person.
 */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { failedPageSpec, noticeHtml, pageReply, pageSpec, redirectSpec } from "../../pages/index.ts";
import { rawOf, withLibrary } from "../library.ts";
import { pageOf } from "../pages.ts";
import { routes } from "../provider.ts";
import { withQueryMode, withScopes } from "../requests.ts";
import { authorizeQuery } from "../shapes.ts";

const common = { method: "GET", tag: "oauth", access: { kind: "public" }, wire: "oauth" } as const;

export const authorize: Endpoint = {
  spec: {
    ...common,
    id: "oauth.authorize",
    path: "/oauth2/authorize",
    summary: "Request access from a person",
    description:
      "Authorization code flow (RFC 6749) with PKCE (S256 only), for a browser. The person signs in, sees the client and the requested scopes, and decides. Scopes that the person's role does not have are not granted, so the token's `scope` can be smaller than the request. Then the browser returns to `redirect_uri`, which must be equal to a registered URI. Codes are valid for one minute and once.",
    query: authorizeQuery,
    replies: { 200: pageSpec, 303: redirectSpec, 400: failedPageSpec },
  },
  handle: async (ctx, call) => {
    const [, query = ""] = rawOf(call).url.split(/\?(.*)/s);
    // A person who came by hand; an application always asks for something.
    if (query === "") return pageReply(200, noticeHtml(call.language, "emptyTitle", "emptyLead"));
    return withLibrary(ctx, call, { accept: "text/html" }, async ({ send, context }) => {
      const asked = withQueryMode(new URLSearchParams(query));
      const client = await context.ports.clients.find(asked.get("client_id") ?? "");
      const parameters = client === undefined ? asked : withScopes(asked, client.scopes);
      return pageOf(await send({ target: `${routes.authorization}?${parameters}` }));
    });
  },
};

/**
 * `GET /oauth2/authorize`: a browser arrives with a request of an application, and is sent on to sign in and decide;
 * `GET /oauth2/authorize/{uid}`: it comes back from there and is sent to the application, with a code or an error.
 *
 * Each request starts afresh: no earlier sign-in or consent counts, so nothing can be allowed behind a person's back.
 */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import {
  failedPageSpec,
  noticeHtml,
  pageReply,
  pageSpec,
  redirectSpec,
  stylePath,
  styleSheet,
} from "../../pages/index.ts";
import { resumeCookie } from "../browser-cookies.ts";
import { rawOf, visitLibrary } from "../library.ts";
import { pageOf } from "../pages.ts";
import { routes } from "../provider.ts";
import { withQueryMode, withScopes } from "../requests.ts";
import { authorizeQuery, interactionId } from "../shapes.ts";

const common = { method: "GET", tag: "oauth", access: { kind: "public" }, wire: "oauth" } as const;

const authorize: Endpoint = {
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
    return visitLibrary(ctx, call, { accept: "text/html" }, async ({ send, visit }) => {
      const asked = withQueryMode(new URLSearchParams(query));
      const client = await visit.ports.clients.find(asked.get("client_id") ?? "");
      const parameters = client === undefined ? asked : withScopes(asked, client.scopes);
      return pageOf(await send({ target: `${routes.authorization}?${parameters}` }));
    });
  },
};

const resume: Endpoint = {
  spec: {
    ...common,
    id: "oauth.resume",
    path: "/oauth2/authorize/{uid}",
    summary: "Return to the application",
    description: "The browser comes here after the decision and is redirected to the application.",
    params: closed({ uid: interactionId }),
    replies: { 200: pageSpec, 303: redirectSpec, 400: failedPageSpec },
  },
  handle: async (ctx, call) => {
    const { uid } = call.params as { uid: string };
    // Somebody who went back in their browser, or never began here.
    const cookie = resumeCookie(ctx, rawOf(call), uid);
    if (cookie === undefined) return pageReply(200, noticeHtml(call.language, "emptyTitle", "overLead"));
    return visitLibrary(ctx, call, { accept: "text/html" }, async ({ send }) => pageOf(await send({ cookie })));
  },
};

const style: Endpoint = {
  spec: {
    ...common,
    id: "oauth.style",
    path: stylePath,
    summary: "Style sheet of the pages",
    description: "The only file that the pages load.",
    replies: { 200: { description: "The style sheet.", content: ["text/css"] } },
  },
  handle: async () => ({
    status: 200,
    headers: { "content-type": "text/css; charset=utf-8", "cache-control": "public, max-age=3600" },
    body: styleSheet,
  }),
};

export const authorizeEndpoints: readonly Endpoint[] = [authorize, resume, style];

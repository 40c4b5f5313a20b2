/** `GET /oauth2/authorize/{uid}`: after the decision the browser is sent to the application, with a code or an error. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { failedPageSpec, noticeHtml, pageReply, pageSpec, redirectSpec } from "../../pages/index.ts";
import { resumeCookie } from "../browser-cookies.ts";
import { rawOf, withLibrary } from "../library.ts";
import { pageOf } from "../pages.ts";
import { interactionId } from "../shapes.ts";

const common = { method: "GET", tag: "oauth", access: { kind: "public" }, wire: "oauth" } as const;

export const resumeAuthorization: Endpoint = {
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
    // No cookie: the person went back in the browser, or began elsewhere.
    const cookie = resumeCookie(ctx, rawOf(call), uid);
    if (cookie === undefined) return pageReply(200, noticeHtml(call.language, "emptyTitle", "overLead"));
    return withLibrary(ctx, call, { accept: "text/html" }, async ({ send }) => pageOf(await send({ cookie })));
  },
};

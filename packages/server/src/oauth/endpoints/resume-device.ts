/** `GET /oauth2/device/{uid}`: where the browser comes after the decision. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { failedPageSpec, limitedPageSpec, pageSpec, redirectSpec } from "../../pages/index.ts";
import { resumeCookie } from "../browser-cookies.ts";
import { rawOf, withLibrary } from "../library.ts";
import { pageOf } from "../pages.ts";
import { interactionId } from "../shapes.ts";

const common = { tag: "oauth", access: { kind: "public" }, wire: "oauth" } as const;

const replies = { 200: pageSpec, 303: redirectSpec, 400: failedPageSpec, 429: limitedPageSpec };

export const resumeDevice: Endpoint = {
  spec: {
    ...common,
    id: "oauth.resume_device",
    method: "GET",
    path: "/oauth2/device/{uid}",
    summary: "End of the device flow",
    description: "The browser comes here after the decision.",
    params: closed({ uid: interactionId }),
    replies,
  },
  handle: async (ctx, call) => {
    const { uid } = call.params as { uid: string };
    const cookie = resumeCookie(ctx, rawOf(call), uid);
    return withLibrary(ctx, call, { accept: "text/html" }, async ({ send }) => pageOf(await send({ cookie })));
  },
};

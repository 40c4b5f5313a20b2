/** `GET /oauth2/device`: the page where a person types the user code of a device. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { failedPageSpec, limitedPageSpec, pageSpec, redirectSpec } from "../../pages/index.ts";
import { rawOf, withLibrary } from "../library.ts";
import { pageOf } from "../pages.ts";
import { routes } from "../provider.ts";
import { deviceQuery } from "../shapes.ts";

const common = { tag: "oauth", access: { kind: "public" }, wire: "oauth" } as const;

const replies = { 200: pageSpec, 303: redirectSpec, 400: failedPageSpec, 429: limitedPageSpec };

export const showCodeForm: Endpoint = {
  spec: {
    ...common,
    id: "oauth.show_code_form",
    method: "GET",
    path: "/oauth2/device",
    summary: "Page for the user code",
    description: "The page on which a person types the code that a device shows (RFC 8628).",
    query: deviceQuery,
    replies,
  },
  handle: async (ctx, call) => {
    const [, query = ""] = rawOf(call).url.split(/\?(.*)/s);
    const code = new URLSearchParams(query).get("user_code") ?? "";
    // A code in the address is only shown: the person compares it and sends it themselves.
    const prefilledCode = /^[A-Za-z]{4}-?[A-Za-z]{4}$/.test(code) ? code.toUpperCase() : "";
    return withLibrary(ctx, call, { accept: "text/html", prefilledCode }, async ({ send }) =>
      pageOf(await send({ target: routes.code_verification })),
    );
  },
};

/**
 * The pages of the device flow: `GET` and `POST /oauth2/device` take the user code and show whose it is;
 * `GET /oauth2/device/{uid}` is where the browser comes after the decision. Signing in and deciding is `interact.ts`.
 */

import type { Call, Ctx, Endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { failedPageSpec, limitedPageSpec, noticeHtml, pageReply, pageSpec, redirectSpec } from "../../pages/index.ts";
import { resumeCookie, sessionCookie } from "../browser-cookies.ts";
import { type Library, rawOf, visitLibrary } from "../library.ts";
import { pageOf } from "../pages.ts";
import { routes } from "../provider.ts";
import { codeForm, deviceQuery, interactionId } from "../shapes.ts";
import { returnTry, takeTry, triesWindowMs } from "../user-codes.ts";

const common = { tag: "oauth", access: { kind: "public" }, wire: "oauth" } as const;
const replies = { 200: pageSpec, 303: redirectSpec, 400: failedPageSpec, 429: limitedPageSpec };

const showForm: Endpoint = {
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
    return visitLibrary(ctx, call, { accept: "text/html", prefilledCode }, async ({ send }) =>
      pageOf(await send({ target: routes.code_verification })),
    );
  },
};

const enterCode: Endpoint = {
  spec: {
    ...common,
    id: "oauth.enter_code",
    method: "POST",
    path: "/oauth2/device",
    summary: "Send the user code",
    description:
      "First shows the client of the code. After the confirmation it redirects to the sign-in. Five wrong codes in ten minutes are allowed per client address.",
    idempotency: "none",
    form: codeForm,
    replies,
  },
  handle: (ctx, call) => visitLibrary(ctx, call, { accept: "text/html" }, (library) => tryCode(ctx, call, library)),
};

async function tryCode(ctx: Ctx, call: Call, { send, visit }: Library) {
  if (!(await takeTry(ctx, visit.tx, call.addressKey))) {
    const headers = { "retry-after": String(triesWindowMs / 1000) };
    return pageReply(429, noticeHtml(call.language, "failedTitle", "codeTries"), { headers });
  }
  const answer = await send({ target: routes.code_verification, cookie: sessionCookie(rawOf(call)) });
  // Also when no code was looked for at all, such as with a form that is too old.
  if (visit.found.userCodeKnown !== false) await returnTry(ctx, visit.tx, call.addressKey);
  return pageOf(answer);
}

const resumeDevice: Endpoint = {
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
    return visitLibrary(ctx, call, { accept: "text/html" }, async ({ send }) => pageOf(await send({ cookie })));
  },
};

export const codeEndpoints: readonly Endpoint[] = [showForm, enterCode, resumeDevice];

/** `POST /oauth2/device`: takes the user code and shows whose it is; confirmed, it leads to the sign-in. */

import type { Call, Ctx, Endpoint } from "../../kernel/http/endpoint.ts";
import { failedPageSpec, limitedPageSpec, noticeHtml, pageReply, pageSpec, redirectSpec } from "../../pages/index.ts";
import { sessionCookie } from "../browser-cookies.ts";
import { type Library, rawOf, withLibrary } from "../library.ts";
import { pageOf } from "../pages.ts";
import { routes } from "../provider.ts";
import { codeForm } from "../shapes.ts";
import { returnTry, takeTry, triesWindowMs } from "../user-codes.ts";

const common = { tag: "oauth", access: { kind: "public" }, wire: "oauth" } as const;

const replies = { 200: pageSpec, 303: redirectSpec, 400: failedPageSpec, 429: limitedPageSpec };

export const enterCode: Endpoint = {
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
  handle: (ctx, call) => withLibrary(ctx, call, { accept: "text/html" }, (library) => tryCode(ctx, call, library)),
};

async function tryCode(ctx: Ctx, call: Call, { send, context }: Library) {
  if (!(await takeTry(ctx, context.tx, call.addressKey))) {
    const headers = { "retry-after": String(triesWindowMs / 1000) };
    return pageReply(429, noticeHtml(call.language, "failedTitle", "codeTries"), { headers });
  }
  const answer = await send({ target: routes.code_verification, cookie: sessionCookie(rawOf(call)) });
  // Also when no code was looked for at all, such as with a form that is too old.
  if (context.found.userCodeKnown !== false) await returnTry(ctx, context.tx, call.addressKey);
  return pageOf(answer);
}

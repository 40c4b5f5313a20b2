/** `POST /oauth2/revoke` (RFC 7009), for refresh tokens and for our JWTs. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { presentedClaims, rawOf, replyOf, withLibrary } from "../library.ts";
import { withTokenHandle } from "../requests.ts";
import { tokenOnlyForm } from "../shapes.ts";

export const revokeToken: Endpoint = {
  spec: {
    id: "oauth.revoke",
    method: "POST",
    path: "/oauth2/revoke",
    tag: "oauth",
    summary: "Revoke a token",
    description:
      "RFC 7009. Ends the grant of the token. All its access and refresh tokens stop working within a second, on every server. The answer is the same for an unknown token.",
    access: { kind: "public" },
    idempotency: "none",
    wire: "oauth",
    form: tokenOnlyForm,
    replies: { 200: { description: "The token is not valid any more.", empty: true } },
  },
  handle: async (ctx, call) => {
    const { form, jwt } = withTokenHandle(new URLSearchParams(rawOf(call).form));
    const presented = await presentedClaims(ctx, jwt);
    return withLibrary(ctx, call, { accept: "application/json", endReason: "revoked", presented }, async ({ send }) =>
      replyOf(await send({ form: form.toString() })),
    );
  },
};

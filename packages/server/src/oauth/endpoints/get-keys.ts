/** `GET /oauth2/jwks`: the public keys that sign access tokens. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { discoveryOperation, keysCaching } from "../metadata.ts";
import { publicKeys } from "../ports-implementation.ts";
import { jwks } from "../shapes.ts";

export const getKeys = endpoint(
  {
    ...discoveryOperation,
    wire: "oauth",
    id: "oauth.keys",
    path: "/oauth2/jwks",
    summary: "Public keys",
    description:
      "The keys that sign access tokens (RFC 7517). A new key is published before its first use and stays until all tokens that it signed have expired.",
    replies: { 200: { description: "The keys.", body: jwks } },
  },
  async (ctx) => ({ status: 200, headers: { "cache-control": keysCaching }, body: await publicKeys(ctx) }),
);

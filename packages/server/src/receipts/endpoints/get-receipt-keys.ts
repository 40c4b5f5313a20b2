/** `GET /.well-known/emanet-keys.json`: the public keys that sign receipts. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, nullable, Type, timestamp } from "../../kernel/http/schema.ts";

/** A receipt names its key, so a verifier that does not have it asks again. */
const caching = "public, max-age=300";

const encoded = (maxLength: number, example: string, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: "^[\\w.-]+$", examples: [example], description });

const key = closed(
  {
    kty: Type.Literal("OKP", { type: "string" }),
    crv: Type.Literal("Ed25519", { type: "string" }),
    x: encoded(64, "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "The public key."),
    kid: encoded(64, "q3nV0y6bUeA1x7ZQ", "Its name; receipts have it in their header."),
    alg: Type.Literal("EdDSA", { type: "string" }),
    use: Type.Literal("sig", { type: "string" }),
    created_at: timestamp("When it was made. It signs until the next one is made."),
    introduction: nullable(
      encoded(
        2000,
        "eyJhbGciOiJFZERTQSJ9.eyJrdHkiOiJPS1AifQ.c2ln",
        "A JWS by the key before it, which contains this key.",
      ),
    ),
  },
  { title: "ReceiptKey" },
);

/** One a year. */
const maxKeys = 1000;

export const getReceiptKeys = endpoint(
  {
    id: "receipts.keys",
    method: "GET",
    path: "/.well-known/emanet-keys.json",
    tag: "snapshots",
    access: { kind: "public" },
    crossOrigin: true,
    summary: "Keys of receipts",
    description:
      "The public keys that sign receipts (RFC 7517, RFC 8037), the newest first. Keys stay for ever. Each but the first is introduced by the one before it.",
    replies: {
      200: {
        description: "The keys.",
        body: closed({ keys: Type.Array(key, { maxItems: maxKeys }) }, { title: "ReceiptKeys" }),
      },
    },
  },
  async (ctx) => ({
    status: 200,
    headers: { "cache-control": caching },
    body: { keys: await ctx.services.receipts.keys() },
  }),
);

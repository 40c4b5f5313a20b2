/** `GET /v1/audit/chain`: how long the chain of an account is, and its last checkpoint. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, nullable, Type, text, timestamp } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { lastCheckpoint } from "../checkpoint-store.ts";
import { findHead } from "../record-store.ts";

const count = (description: string) =>
  Type.Integer({ format: "int64", minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

export const getChain = endpoint(
  {
    id: "audit.get_chain",
    method: "GET",
    path: "/v1/audit/chain",
    tag: "audit",
    summary: "Read the state of the audit chain",
    description:
      "The number of records, the hash of the last one, and the last signed checkpoint. `docs/AUDIT.md` has how it is checked.",
    access: { kind: "account", scope: "audit:read" },
    replies: {
      200: {
        description: "The chain.",
        body: closed(
          {
            records: count("Records of the chain."),
            hash: Type.String({
              ...{ minLength: 64, maxLength: 64, pattern: "^[0-9a-f]{64}$" },
              description: "Hash of the last record.",
              examples: ["0".repeat(64)],
            }),
            last_checkpoint_at: nullable(timestamp("When the last checkpoint was made.")),
            last_checkpoint_seq: nullable(count("The record that it is about.")),
            last_checkpoint: nullable(
              text(2000, {
                pattern: "^[\\w-]+\\.[\\w-]+\\.[\\w-]+$",
                description: "The checkpoint: a compact JWS. Keep it to check later exports with it.",
                examples: ["eyJhbGciOiJFZERTQSJ9.eyJzZXEiOjF9.c2ln"],
              }),
            ),
          },
          { title: "AuditChain" },
        ),
      },
    },
  },
  async (ctx, { principal }) => {
    const { accountId } = principal;
    const [head, last] = await ctx.read(rowAccessOf(principal), (tx) =>
      Promise.all([findHead(tx, accountId), lastCheckpoint(tx, accountId)]),
    );
    const body = {
      records: head.seq,
      hash: head.hash.toString("hex"),
      last_checkpoint_at: last?.made_at.toISOString() ?? null,
      last_checkpoint_seq: last?.seq ?? null,
      last_checkpoint: last?.jws ?? null,
    };
    return { status: 200, body };
  },
);

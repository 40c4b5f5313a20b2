/** `GET /v1/admin/audit/chains/{chain}`: the state of a chain, with its last self-check. */

import { staffOperation } from "../../accounts/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, nullable, Type, text, timestamp } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { findCheck } from "../check-store.ts";
import { lastCheckpoint } from "../checkpoint-store.ts";
import { findHead } from "../record-store.ts";
import { chainName } from "../shapes.ts";

const count = (description: string) =>
  Type.Integer({ format: "int64", minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

export const adminGetChain = endpoint(
  {
    ...staffOperation,
    id: "admin.get_audit_chain",
    method: "GET",
    path: "/v1/admin/audit/chains/{chain}",
    summary: "Read the state of an audit chain",
    description: "The number of records, the last checkpoint, and what the last self-check found.",
    params: closed({ chain: chainName }),
    replies: {
      200: {
        description: "The chain.",
        body: closed(
          {
            chain: chainName,
            records: count("Records of the chain."),
            last_checkpoint_seq: nullable(count("The record of the last checkpoint.")),
            checked_at: nullable(timestamp("When it was last checked.")),
            bad_seq: nullable(count("The first bad record; null when all are good.")),
            finding: nullable(text(200, { description: "What is wrong with it.", examples: ["it is missing"] })),
          },
          { title: "AdminAuditChain" },
        ),
      },
    },
  },
  async (ctx, { params: { chain } }) => {
    const [head, last, check] = await ctx.read({ kind: "staff" }, (tx) =>
      Promise.all([findHead(tx, chain), lastCheckpoint(tx, chain), findCheck(tx, chain)]),
    );
    if (head.seq === 0 && chain !== "platform") throw new Problem("not_found");
    const body = {
      ...{ chain, records: head.seq, last_checkpoint_seq: last?.seq ?? null },
      ...{ checked_at: check?.checked_at.toISOString() ?? null, bad_seq: check?.bad_seq ?? null },
      finding: check?.finding ?? null,
    };
    return { status: 200, body };
  },
);

/** `POST /v1/audit/shares`: lets an outside auditor read a selection of the audit trail. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { auditShareCreated } from "../events.ts";
import { newShareSchema, shareRequestSchema, shareShape } from "../shapes.ts";
import { countLiveShares, insertShare } from "../share-store.ts";
import { maxLiveShares, newShareToken, shareTokenHash, usualShareDays } from "../shares.ts";

const dayMs = 24 * 60 * 60_000;

export const createShare = endpoint(
  {
    id: "audit_shares.create",
    method: "POST",
    path: "/v1/audit/shares",
    tag: "audit",
    summary: "Share the audit trail",
    description: [
      "Lets somebody outside the account read the records that the filter chooses, for at most 90 days, at `/v1/audit/shared/events` and",
      "`/v1/audit/shared/export` with the token as bearer token. The token is shown only in this answer. People and paths are masked unless",
      "you say otherwise. Every read is a record of your audit trail. At most 50 shares can be read at a time; one more is 409 `quota_exceeded`.",
    ].join(" "),
    access: { kind: "account", scope: "audit:read", roles: ["owner", "manager"] },
    stepUp: true,
    body: shareRequestSchema,
    replies: { 201: { description: "The share, with its token.", body: newShareSchema } },
    errors: ["quota_exceeded"],
  },
  async (ctx, { principal, body }) => {
    const { accountId } = principal;
    const token = newShareToken(ctx);
    const { days = usualShareDays, filter = {}, show_persons = false, show_paths = false } = body;
    const made = await ctx.tx(rowAccessOf(principal), async (tx) => {
      if ((await countLiveShares(tx, accountId)) >= maxLiveShares) throw new Problem("quota_exceeded");
      const row = await insertShare(tx, {
        ...{ id: ctx.random.uuid(), account_id: accountId, token_hash: shareTokenHash(ctx, token), label: body.label },
        ...{ filter: JSON.stringify(filter), shows_persons: show_persons, shows_paths: show_paths },
        ...{
          created_by: principal.memberId,
          created_at: tx.now,
          expires_at: new Date(tx.now.getTime() + days * dayMs),
        },
      });
      const { id } = row;
      const metadata = { days, show_persons, show_paths };
      tx.audit({ action: "audit.share_created", targets: [{ type: "audit_share", id }], metadata });
      tx.emit(auditShareCreated, { share_id: id, expires_at: row.expires_at.toISOString() });
      return shareShape(row, tx.now);
    });
    return { status: 201, body: { ...made, token } };
  },
);

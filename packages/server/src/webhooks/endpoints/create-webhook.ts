/** `POST /v1/webhooks`: a new address for events. Its secret is shown once. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { requireTarget, senderOf, shared, targetOf, writes } from "../operations.ts";
import { requireWebhooks } from "../rules.ts";
import { createdShape, showWebhook, webhookFields } from "../shapes.ts";
import { newSecret } from "../signatures.ts";
import { addSecret, countAndLockWebhooks, findWebhook, insertWebhook } from "../store.ts";

/** The contract's limit. */
const maxWebhooks = 10;

export const createWebhook = endpoint(
  {
    ...shared,
    id: "webhooks.create",
    method: "POST",
    path: "/v1/webhooks",
    summary: "Create a webhook",
    description:
      "Events of these types are sent to the address from now on. The secret is shown only in this answer. An account has at most ten webhooks; one more is 409 `quota_exceeded`. A client that is held to vaults gets events of these vaults alone. The webhook is disabled when the member or client that made it loses the right to make one.",
    access: writes,
    body: closed(
      {
        url: webhookFields.url,
        events: webhookFields.events,
        description: Type.Optional(webhookFields.description),
      },
      { title: "NewWebhook" },
    ),
    replies: { 201: { description: "The webhook, with its secret.", body: createdShape } },
    errors: ["webhook_url_blocked", "quota_exceeded", "feature_not_enabled"],
  },
  async (ctx, { principal, body, language }) => {
    requireWebhooks(principal);
    const url = await requireTarget(ctx, body.url, language);
    const { accountId } = principal;
    const id = ctx.random.uuid();
    const secret = newSecret(ctx.random);
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      if ((await countAndLockWebhooks(tx, accountId)) >= maxWebhooks) throw new Problem("quota_exceeded");
      const { events, description = null } = body;
      await insertWebhook(tx, { id, account_id: accountId, url, events, description, ...senderOf(principal) });
      await addSecret(tx, ctx.secrets, { id, account_id: accountId }, secret, tx.now);
      tx.audit({ action: "webhook.created", targets: targetOf(id), metadata: { events: events.join(" ") } });
      return findWebhook(tx, accountId, id);
    });
    if (row === undefined) throw new Error("a new webhook is not there");
    return { status: 201, body: { ...showWebhook(row), secret } };
  },
);

/** `POST /v1/webhooks/{id}/secret/rotate`: a new secret; the old one goes on signing for a while. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, timestamp } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { requireLockedWebhook, shared, targetOf, writes } from "../operations.ts";
import { requireWebhooks } from "../rules.ts";
import { secretText, showWebhook, webhookId } from "../shapes.ts";
import { newSecret } from "../signatures.ts";
import { addSecret, updateWebhook } from "../store.ts";

/** The contract's grace. */
const maxGraceSeconds = 7 * 24 * 60 * 60;
const defaultGraceSeconds = 24 * 60 * 60;

export const rotateWebhookSecret = endpoint(
  {
    ...shared,
    id: "webhooks.rotate_secret",
    method: "POST",
    path: "/v1/webhooks/{id}/secret/rotate",
    summary: "Replace a webhook's secret",
    description:
      "Creates a new secret, which is shown only in this answer. For `grace_s` (default one day) deliveries are signed with the old secret too, so that receivers can change at any moment; 0 ends it at once. `If-Match` with the webhook's ETag is required.",
    access: writes,
    ifMatch: "required",
    params: webhookId,
    body: closed(
      {
        grace_s: Type.Optional(
          Type.Integer({ format: "int32", minimum: 0, maximum: maxGraceSeconds, description: "Seconds (86400)." }),
        ),
      },
      { title: "WebhookSecretRotation" },
    ),
    replies: {
      200: {
        description: "The new secret.",
        body: closed(
          { secret: secretText, previous_expires_at: timestamp("Until when the old secret signs too.") },
          { title: "WebhookSecretRotated" },
        ),
      },
    },
    errors: ["feature_not_enabled"],
  },
  async (ctx, { principal, params, body, requireMatch }) => {
    requireWebhooks(principal);
    const secret = newSecret(ctx.random);
    const endsAt = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const webhook = await requireLockedWebhook(tx, principal, params.id);
      requireMatch(showWebhook(webhook));
      const end = new Date(tx.now.getTime() + (body.grace_s ?? defaultGraceSeconds) * 1000);
      await addSecret(tx, ctx.secrets, webhook, secret, end);
      await updateWebhook(tx, params.id, {});
      tx.audit({ action: "webhook.secret_rotated", targets: targetOf(params.id) });
      return end;
    });
    return { status: 200, body: { secret, previous_expires_at: endsAt.toISOString() } };
  },
);

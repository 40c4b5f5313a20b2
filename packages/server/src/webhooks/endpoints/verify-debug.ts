/** `POST /v1/webhooks/{id}/verify-debug`: explains why a receiver finds a signature wrong. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, nullable, oneOf, Type, text, timestamp, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { explainSignature, findings, toleranceSeconds } from "../explain-signature.ts";
import { requireWebhook, shared, writes } from "../operations.ts";
import { requireWebhooks } from "../rules.ts";
import { webhookId } from "../shapes.ts";
import { findSentEvent, liveSecrets, openSecret } from "../store.ts";

/** More than any payload of ours. */
const maxBodyLength = 100_000;
const maxHeaderLength = 1_000;

export const verifyDebug = endpoint(
  {
    ...shared,
    id: "webhooks.verify_debug",
    method: "POST",
    path: "/v1/webhooks/{id}/verify-debug",
    summary: "Find out why a signature does not fit",
    description: `Send what your receiver got: the header, the body as it came, byte for byte, and optionally the secret that it uses and what its clock said. The answer names the first difference: \`wrong_secret\`, \`old_secret\` (replaced, and no longer valid), \`changed_body\` (parsed and written again, or another encoding), \`wrong_event_id\`, \`clock_ahead\` and \`clock_behind\` (more than ${toleranceSeconds} s), \`malformed_header\`, or \`does_not_fit\` when it is no delivery of this webhook. It never answers a digest.`,
    access: writes,
    limits: ["webhook_verify_debug"],
    idempotency: "none",
    params: webhookId,
    body: closed(
      {
        signature: text(maxHeaderLength, {
          description: "The value of `X-Service-Signature`, or of `webhook-signature` with the two fields below.",
        }),
        webhook_id: Type.Optional(text(100, { description: "The value of the header `webhook-id`." })),
        webhook_timestamp: Type.Optional(text(20, { description: "The value of the header `webhook-timestamp`." })),
        body: Type.String({
          pattern: "^[^\\u0000]*$",
          maxLength: maxBodyLength,
          description: "The body as text, or as base64 with `body_encoding`.",
        }),
        body_encoding: Type.Optional(oneOf(["utf-8", "base64"], "How `body` is written here (`utf-8`).")),
        event_id: Type.Optional(uuid("The event, if the body cannot be read any more.")),
        secret: Type.Optional(
          text(200, { description: "The secret that the receiver uses. It is compared and forgotten." }),
        ),
        received_at: Type.Optional(timestamp("What the receiver's clock said; now when absent.")),
      },
      { title: "SignatureQuestion" },
    ),
    replies: {
      200: {
        description: "What is different.",
        body: closed(
          {
            finding: oneOf(findings, "The first difference; `valid` when there is none."),
            clock_offset_s: nullable(
              Type.Integer({
                ...{ format: "int64", minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
                description:
                  "Seconds by which the receiver's clock is ahead of the signature; negative when it is behind.",
              }),
            ),
          },
          { title: "SignatureFinding" },
        ),
      },
    },
    errors: ["feature_not_enabled"],
  },
  async (ctx, { principal, params, body }) => {
    requireWebhooks(principal);
    const content = Buffer.from(body.body, body.body_encoding === "base64" ? "base64" : "utf8");
    const isStandard = body.webhook_id !== undefined && body.webhook_timestamp !== undefined;
    const eventId = body.event_id ?? eventIdIn(content) ?? body.webhook_id;
    const { secrets, sent } = await ctx.read(rowAccessOf(principal), async (tx) => {
      await requireWebhook(tx, principal, params.id);
      const sealed = await liveSecrets(tx, params.id);
      return {
        secrets: sealed.map((secret) => openSecret(ctx.secrets, params.id, secret)),
        sent: eventId === undefined ? null : await findSentEvent(tx, params.id, eventId),
      };
    });
    const receivedAt = body.received_at === undefined ? ctx.clock.now() : new Date(body.received_at);
    const { finding, clockOffsetSeconds } = explainSignature(
      {
        signature: body.signature,
        standard: isStandard ? { id: body.webhook_id ?? "", timestamp: body.webhook_timestamp ?? "" } : null,
        body: content,
        receivedAt: Math.floor(receivedAt.getTime() / 1000),
        secret: body.secret ?? null,
      },
      { secrets, sent },
    );
    return { status: 200, body: { finding, clock_offset_s: clockOffsetSeconds } };
  },
);

/** The event that a body names, also when the body was changed elsewhere. */
function eventIdIn(body: Buffer): string | undefined {
  return /"event_id"\s*:\s*"([0-9a-f-]{36})"/.exec(body.toString())?.[1];
}

/** `POST /v1/oauth-clients/{id}/rotate-secret`: a new secret, with an overlap. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, uuid } from "../../kernel/http/schema.ts";
import { actorOf, rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { clientId, requireClient, requireRankOver, secretText, shared, writes } from "../client-rules.ts";
import { addSecret, countLiveSecrets, endSecrets, lockClient, maxLiveSecrets, updateClient } from "../client-store.ts";
import { mailAboutChange } from "../mail-about-change.ts";
import { clientShape } from "../shapes.ts";

/** A week to bring the new secret to every machine. */
const maxOverlapSeconds = 7 * 24 * 60 * 60;
const defaultOverlapSeconds = 24 * 60 * 60;

export const rotateOauthClientSecret = endpoint(
  {
    ...shared,
    id: "oauth_clients.rotate_secret",
    method: "POST",
    path: "/v1/oauth-clients/{id}/rotate-secret",
    summary: "Replace a client's secret",
    description:
      "Creates a new secret, which is shown only in this answer. The old secret stays valid for `overlap_s` (default one day), so that no program has to stop; 0 ends it at once. `If-Match` with the client's ETag is required, so that two people do not replace each other's secret by mistake. The client has a new ETag afterwards.",
    access: writes,
    stepUp: true,
    params: clientId,
    body: closed(
      {
        overlap_s: Type.Optional(
          Type.Integer({ format: "int32", minimum: 0, maximum: maxOverlapSeconds, description: "Seconds (86400)." }),
        ),
      },
      { title: "SecretRotation" },
    ),
    ifMatch: "required",
    replies: {
      200: {
        description: "The new secret.",
        body: closed({ client_id: uuid("The client."), secret: secretText }, { title: "RotatedSecret" }),
      },
    },
    errors: ["state_conflict", "insufficient_role"],
  },
  async (ctx, { principal, params, body, requireMatch }) => {
    const { accountId } = principal;
    const overlap = body.overlap_s ?? defaultOverlapSeconds;
    const secret = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const client = await requireClient(lockClient(tx, accountId, params.id));
      requireRankOver(principal, client);
      requireMatch(clientShape(client));
      if (client.auth_method !== "client_secret") throw new Problem("state_conflict");
      await endSecrets(tx, client.id, new Date(tx.now.getTime() + overlap * 1000));
      if ((await countLiveSecrets(tx, client.id)) >= maxLiveSecrets) throw new Problem("state_conflict");
      const metadata = { overlap_s: overlap };
      tx.audit({ action: "oauth_client.secret_rotated", targets: [{ type: "oauth_client", id: client.id }], metadata });
      await mailAboutChange(tx, ctx, {
        what: "client_secret_rotated",
        accountId,
        of: { client },
        by: actorOf(principal),
      });
      await updateClient(tx, accountId, client.id, {});
      return addSecret(tx, ctx, { id: client.id, accountId, shownTo: principal.memberId });
    });
    return { status: 200, body: { client_id: params.id, secret } };
  },
);

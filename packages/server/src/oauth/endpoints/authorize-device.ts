/** `POST /oauth2/device_authorization` (RFC 8628): the device flow starts. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { pollIntervalSeconds } from "../device-polls.ts";
import { rawOf, replyOf, withLibrary } from "../library.ts";
import { claimedClient, withScopes } from "../requests.ts";
import { deviceAnswer, deviceForm } from "../shapes.ts";

export const authorizeDevice: Endpoint = {
  spec: {
    id: "oauth.authorize_device",
    method: "POST",
    path: "/oauth2/device_authorization",
    tag: "oauth",
    summary: "Start the device flow",
    description:
      "RFC 8628, for agents and other programs without a browser. The person types the user code at `verification_uri`, signs in and decides. The program polls the token endpoint with the device code. Codes are valid for ten minutes. A program that polls more often than every `interval` seconds gets `slow_down` and must add five seconds.",
    access: { kind: "public" },
    contentLimits: ["token"],
    idempotency: "none",
    wire: "oauth",
    form: deviceForm,
    replies: { 200: { description: "The codes.", body: deviceAnswer } },
  },
  handle: async (ctx, call) => {
    const { form, headers } = rawOf(call);
    const parameters = new URLSearchParams(form);
    const clientId = claimedClient(parameters, headers.authorization);
    await ctx.spend(["token"], clientId ?? "");
    return withLibrary(ctx, call, { accept: "application/json" }, async ({ send, context }) => {
      const client = clientId === undefined ? undefined : await context.ports.clients.find(clientId);
      const changed = client === undefined ? parameters : withScopes(parameters, client.scopes);
      const reply = replyOf(await send({ form: changed.toString() }));
      if (reply.status !== 200) return reply;
      return { ...reply, body: { ...(reply.body as object), interval: pollIntervalSeconds } };
    });
  },
};

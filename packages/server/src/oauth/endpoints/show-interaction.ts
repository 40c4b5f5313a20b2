/** `GET /oauth2/interaction/{uid}`: the page where a person signs in and decides. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { pageSpec, redirectReply, redirectSpec } from "../../pages/index.ts";
import { consentPage, failures, interactionOperation, signInPage, withInteraction } from "../interaction-pages.ts";

export const showInteraction: Endpoint = {
  spec: {
    ...interactionOperation,
    id: "oauth.show_interaction",
    method: "GET",
    summary: "Page to sign in and decide",
    description:
      "Shows the client and the requested scopes. It works only in the browser that started the flow, for fifteen minutes.",
    replies: { 200: pageSpec, 303: redirectSpec, ...failures },
  },
  handle: (ctx, call) =>
    withInteraction(ctx, call, async (interaction, library) =>
      interaction.isDecided
        ? redirectReply(interaction.returnTo)
        : interaction.signedIn === null
          ? signInPage(ctx, call, interaction)
          : consentPage(ctx, call, interaction, interaction.signedIn, library),
    ),
};

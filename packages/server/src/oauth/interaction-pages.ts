/** The pages of an interaction, and what its operations share. */

import type { Call, Ctx } from "../kernel/http/endpoint.ts";
import { closed } from "../kernel/http/schema.ts";
import { Problem } from "../kernel/problems.ts";
import {
  failedPageSpec,
  limitedPageSpec,
  noticeHtml,
  type PageReply,
  pageReply,
  type TextKey,
  unauthorizedPageSpec,
} from "../pages/index.ts";
import { isBrowserOf } from "./browser-cookies.ts";
import { consentHtml, signInHtml } from "./html.ts";
import { findInteraction, formToken, type Interaction } from "./interaction.ts";
import { type Library, rawOf, withLibrary } from "./library.ts";
import { formTargetOf } from "./pages.ts";
import type { SignedIn } from "./ports.ts";
import { interactionId } from "./shapes.ts";

export const interactionOperation = {
  tag: "oauth",
  path: "/oauth2/interaction/{uid}",
  access: { kind: "public" },
  wire: "oauth",
  params: closed({ uid: interactionId }),
} as const;

export const failures = { 400: failedPageSpec, 401: unauthorizedPageSpec, 429: limitedPageSpec };

/** Runs work on the interaction of the request; returns an error page when it has ended. */
export async function withInteraction(
  ctx: Ctx,
  call: Call,
  work: (interaction: Interaction, library: Library) => Promise<PageReply>,
): Promise<PageReply> {
  const uid = uidOf(call);
  if (!isBrowserOf(ctx, rawOf(call), "interaction", uid)) return overPage(call);
  return withLibrary(ctx, call, { accept: "text/html" }, async (library) => {
    const interaction = await findInteraction(library.provider, library.context, uid);
    return interaction === undefined ? overPage(call) : work(interaction, library);
  });
}

/** The sign-in page again, with its error. Other problems are thrown. */
export function refusedPage(
  ctx: Ctx,
  call: Call,
  error: unknown,
  typed: Pick<Retry, "email" | "challengeId">,
): Promise<PageReply> {
  const failure = error instanceof Problem ? failureOf(error) : undefined;
  if (failure === undefined || !(error instanceof Problem)) throw error;
  const { status, textKey } = failure;
  const retry = error.extras.headers?.["Retry-After"];
  const headers = {
    ...(status === 401 && { "www-authenticate": 'Bearer realm="emanet"' }),
    ...(retry !== undefined && { "retry-after": retry }),
  };
  return withInteraction(ctx, call, async (interaction) =>
    signInPage(ctx, call, interaction, { status, textKey, headers, ...typed }),
  );
}

interface Retry {
  readonly status: number;
  readonly textKey: TextKey | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly email: string;
  readonly challengeId: string | null;
}

export function signInPage(ctx: Ctx, call: Call, interaction: Interaction, retry?: Retry): PageReply {
  const { uid, client, redirectUri } = interaction;
  const html = signInHtml(call.language, {
    action: pathOf(interaction),
    csrf: formToken(ctx, uid),
    clientName: client.name,
    failure: retry?.textKey ?? null,
    email: retry?.email ?? "",
    challengeId: retry?.challengeId ?? null,
  });
  // Cancelling leads back to the application.
  const options = { headers: retry?.headers ?? {}, formTarget: formTargetOf(redirectUri) };
  return pageReply(retry?.status ?? 200, html, options);
}

export async function consentPage(
  ctx: Ctx,
  call: Call,
  interaction: Interaction,
  signedIn: SignedIn,
  { context }: Library,
): Promise<PageReply> {
  const { uid, client, place, scopes, grantable, redirectUri } = interaction;
  const account = await context.ports.people.describe(signedIn.accountId);
  const html = consentHtml(call.language, {
    action: pathOf(interaction),
    csrf: formToken(ctx, uid),
    clientName: client.name,
    isOwnClient: client.accountId === null,
    accountName: account?.accountName ?? "",
    place,
    scopes: grantable,
    refused: scopes.filter((scope) => !grantable.includes(scope)),
  });
  return pageReply(200, html, { formTarget: formTargetOf(redirectUri) });
}

export function overPage(call: Call): PageReply {
  return pageReply(400, noticeHtml(call.language, "failedTitle", "failedLead"));
}

/** The error text of a failed sign-in; other problems are thrown. */
function failureOf({ code }: Problem): { status: number; textKey: TextKey } | undefined {
  switch (code) {
    case "invalid_credentials":
      return { status: 401, textKey: "wrongCredentials" };
    case "rate_limited":
    case "too_many_attempts":
      return { status: 429, textKey: "tooManyAttempts" };
    default:
      return undefined;
  }
}

export function uidOf(call: Call): string {
  return (call.params as { uid: string }).uid;
}

export function pathOf({ uid }: Interaction): string {
  return `/oauth2/interaction/${uid}`;
}

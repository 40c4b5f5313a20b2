/** `GET` and `POST /oauth2/interaction/{uid}`: the pages where a person signs in and decides. */

import { cookieHeader } from "../../kernel/http/cookies.ts";
import type { Call, Ctx, Endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import {
  failedPageSpec,
  limitedPageSpec,
  noticeHtml,
  type PageReply,
  pageReply,
  pageSpec,
  redirectReply,
  redirectSpec,
  unauthorizedPageSpec,
  type Word,
} from "../../pages/index.ts";
import { isBrowserOf } from "../browser-cookies.ts";
import { consentHtml, signInHtml } from "../html.ts";
import {
  approve,
  deny,
  findInteraction,
  formToken,
  type Interaction,
  isFormToken,
  mayAllow,
  rememberSignIn,
} from "../interaction.ts";
import { type Library, rawOf, visitLibrary } from "../library.ts";
import { formTargetOf } from "../pages.ts";
import type { Credentials, SignedIn } from "../ports.ts";
import { interactionForm, interactionId } from "../shapes.ts";
import { sendSignInCode, signInPerson } from "../wiring.ts";

const common = {
  tag: "oauth",
  path: "/oauth2/interaction/{uid}",
  access: { kind: "public" },
  wire: "oauth",
  params: closed({ uid: interactionId }),
} as const;
const failures = { 400: failedPageSpec, 401: unauthorizedPageSpec, 429: limitedPageSpec };

const show: Endpoint = {
  spec: {
    ...common,
    id: "oauth.show_interaction",
    method: "GET",
    summary: "Page to sign in and decide",
    description:
      "Shows the client and the requested scopes. It works only in the browser that started the flow, for fifteen minutes.",
    replies: { 200: pageSpec, 303: redirectSpec, ...failures },
  },
  handle: (ctx, call) =>
    visit(ctx, call, async (interaction, library) =>
      interaction.isDecided
        ? redirectReply(interaction.returnTo)
        : interaction.signedIn === null
          ? signInPage(ctx, call, interaction)
          : consentPage(ctx, call, interaction, interaction.signedIn, library),
    ),
};

const act: Endpoint = {
  spec: {
    ...common,
    id: "oauth.act_on_interaction",
    method: "POST",
    summary: "Sign in, allow or deny",
    description:
      "The forms of that page. Signing in does the same as the operation `auth.login`, with the same limits, lockout and second factor.",
    idempotency: "none",
    form: interactionForm,
    limits: ["login_ip"],
    contentLimits: ["login", "sms_minute", "sms_hour"],
    cookies: ["__Host-device"],
    replies: { 200: pageSpec, 303: redirectSpec, ...failures },
  },
  handle: async (ctx, call) => {
    const form = new URLSearchParams(rawOf(call).form);
    const uid = uidOf(call);
    if (!isFormToken(ctx, uid, form.get("csrf") ?? "")) return overPage(call);
    switch (form.get("act")) {
      case "sign_in":
        return signIn(ctx, call, form);
      case "send_code":
        return sendCode(ctx, call, form);
      case "approve":
        return visit(ctx, call, allow);
      case "deny":
        return visit(ctx, call, async (interaction) => {
          if (!interaction.isDecided) await deny(interaction);
          return redirectReply(interaction.returnTo);
        });
      default:
        return overPage(call);
    }
  },
};

export const interactionEndpoints: readonly Endpoint[] = [show, act];

/** Runs work on the interaction of the request, or says that it is over. */
async function visit(
  ctx: Ctx,
  call: Call,
  work: (interaction: Interaction, library: Library) => Promise<PageReply>,
): Promise<PageReply> {
  const uid = uidOf(call);
  if (!isBrowserOf(ctx, rawOf(call), "interaction", uid)) return overPage(call);
  return visitLibrary(ctx, call, { accept: "text/html" }, async (library) => {
    const interaction = await findInteraction(library.provider, library.visit, uid);
    return interaction === undefined ? overPage(call) : work(interaction, library);
  });
}

/** The check of the credentials is slow on purpose, so it stands between two transactions. */
async function signIn(ctx: Ctx, call: Call, form: URLSearchParams): Promise<PageReply> {
  const early = await visit(ctx, call, async (interaction) =>
    interaction.signedIn === null ? { status: 200, headers: {} } : redirectReply(pathOf(interaction)),
  );
  if (early.status !== 200) return early;
  const credentials = credentialsIn(form);
  let signedIn: Awaited<ReturnType<typeof signInPerson>>;
  try {
    if (credentials === null) throw new Problem("invalid_credentials");
    signedIn = await signInPerson(ctx, call, credentials);
  } catch (error) {
    return refusedPage(ctx, call, error, { email: form.get("email") ?? "", challengeId: challengeIn(form) });
  }
  return visit(ctx, call, async (interaction, library) => {
    const cookies = [cookieHeader(signedIn.deviceCookie)];
    if (!mayAllow(interaction.client, signedIn.accountId)) {
      const retry = { status: 200, word: "otherAccount", headers: {}, email: "", challengeId: null } as const;
      return signInPage(ctx, call, interaction, retry);
    }
    await rememberSignIn(library.visit, interaction, signedIn);
    return redirectReply(pathOf(interaction), cookies);
  });
}

/** A code by SMS in place of the authenticator; the page does not tell whether one was sent. */
async function sendCode(ctx: Ctx, call: Call, form: URLSearchParams): Promise<PageReply> {
  const claim = claimIn(form);
  const email = form.get("email") ?? "";
  try {
    if (claim === null) throw new Problem("invalid_credentials");
    const challengeId = await sendSignInCode(ctx, call, claim);
    const again = { status: 200, word: null, headers: {}, email, challengeId };
    return visit(ctx, call, async (interaction) => signInPage(ctx, call, interaction, again));
  } catch (error) {
    return refusedPage(ctx, call, error, { email, challengeId: challengeIn(form) });
  }
}

async function allow(interaction: Interaction, { provider, visit: open }: Library): Promise<PageReply> {
  const { signedIn, isDecided, returnTo, grantable } = interaction;
  // The page says which of the two it is.
  if (signedIn === null || grantable.length === 0) return redirectReply(pathOf(interaction));
  // The button was pressed twice: one grant is enough.
  if (!isDecided) await approve(provider, open, interaction, signedIn);
  return redirectReply(returnTo);
}

/** The sign-in again, with what was wrong; problems that are not the person's are thrown. */
function refusedPage(
  ctx: Ctx,
  call: Call,
  error: unknown,
  typed: Pick<Retry, "email" | "challengeId">,
): Promise<PageReply> {
  const failure = error instanceof Problem ? failureOf(error) : undefined;
  if (failure === undefined || !(error instanceof Problem)) throw error;
  const { status, word } = failure;
  const retry = error.extras.headers?.["Retry-After"];
  const headers = {
    ...(status === 401 && { "www-authenticate": 'Bearer realm="emanet"' }),
    ...(retry !== undefined && { "retry-after": retry }),
  };
  return visit(ctx, call, async (interaction) =>
    signInPage(ctx, call, interaction, { status, word, headers, ...typed }),
  );
}

interface Retry {
  readonly status: number;
  readonly word: Word | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly email: string;
  readonly challengeId: string | null;
}

function signInPage(ctx: Ctx, call: Call, interaction: Interaction, retry?: Retry): PageReply {
  const { uid, client, redirectUri } = interaction;
  const html = signInHtml(call.language, {
    action: pathOf(interaction),
    csrf: formToken(ctx, uid),
    clientName: client.name,
    failure: retry?.word ?? null,
    email: retry?.email ?? "",
    challengeId: retry?.challengeId ?? null,
  });
  // Cancelling leads back to the application.
  const options = { headers: retry?.headers ?? {}, formTarget: formTargetOf(redirectUri) };
  return pageReply(retry?.status ?? 200, html, options);
}

async function consentPage(
  ctx: Ctx,
  call: Call,
  interaction: Interaction,
  signedIn: SignedIn,
  { visit: open }: Library,
): Promise<PageReply> {
  const { uid, client, place, scopes, grantable, redirectUri } = interaction;
  const account = await open.ports.people.describe(signedIn.accountId);
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

function overPage(call: Call): PageReply {
  return pageReply(400, noticeHtml(call.language, "failedTitle", "failedLead"));
}

/** What a person is told of a failed sign-in; other problems are not theirs. */
function failureOf({ code }: Problem): { status: number; word: Word } | undefined {
  switch (code) {
    case "invalid_credentials":
      return { status: 401, word: "wrongCredentials" };
    case "rate_limited":
    case "too_many_attempts":
      return { status: 429, word: "tooManyAttempts" };
    default:
      return undefined;
  }
}

/** Null when a field has a form that no account has; the answer is that of a wrong password. */
function credentialsIn(form: URLSearchParams): Credentials | null {
  const claim = claimIn(form);
  const code = (form.get("totp_code") ?? "").trim().toLowerCase();
  if (claim === null || !/^(\d{6}|[a-z0-9]{5}-[a-z0-9]{5})$/.test(code)) return null;
  // A recovery code is one wherever it is typed.
  const challengeId = code.includes("-") ? undefined : (challengeIn(form) ?? undefined);
  return { ...claim, code, challengeId };
}

function claimIn(form: URLSearchParams): Pick<Credentials, "email" | "password"> | null {
  const email = (form.get("email") ?? "").trim();
  const password = form.get("password") ?? "";
  const storable = [email, password].every((text) => text.isWellFormed() && !text.includes("\0") && text !== "");
  const short = email.length <= maxEmailLength && password.length <= maxPasswordLength;
  return storable && short ? { email, password } : null;
}

function challengeIn(form: URLSearchParams): string | null {
  const id = form.get("otp_challenge_id") ?? "";
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) ? id : null;
}

/** RFC 5321. */
const maxEmailLength = 254;
/** As the form allows; a longer one would only be hashed for nothing. */
const maxPasswordLength = 1024;

function uidOf(call: Call): string {
  return (call.params as { uid: string }).uid;
}

function pathOf({ uid }: Interaction): string {
  return `/oauth2/interaction/${uid}`;
}

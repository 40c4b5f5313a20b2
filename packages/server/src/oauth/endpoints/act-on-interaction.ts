/** `POST /oauth2/interaction/{uid}`: the buttons of that page: sign in, send a code, allow, deny. */

import { cookieHeader } from "../../kernel/http/cookies.ts";
import type { Call, Ctx, Endpoint } from "../../kernel/http/endpoint.ts";
import { Problem } from "../../kernel/problems.ts";
import { type PageReply, pageSpec, redirectReply, redirectSpec } from "../../pages/index.ts";
import { approve, deny, type Interaction, isFormToken, mayAllow, rememberSignIn } from "../interaction.ts";
import {
  failures,
  interactionOperation,
  overPage,
  pathOf,
  refusedPage,
  signInPage,
  uidOf,
  withInteraction,
} from "../interaction-pages.ts";
import { type Library, rawOf } from "../library.ts";
import type { Credentials } from "../ports.ts";
import { sendSignInCode, signInPerson } from "../ports-implementation.ts";
import { interactionForm } from "../shapes.ts";

export const actOnInteraction: Endpoint = {
  spec: {
    ...interactionOperation,
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
        return withInteraction(ctx, call, allow);
      case "deny":
        return withInteraction(ctx, call, async (interaction) => {
          if (!interaction.isDecided) await deny(interaction);
          return redirectReply(interaction.returnTo);
        });
      default:
        return overPage(call);
    }
  },
};

/** The check of the credentials is slow on purpose, so it runs between two transactions. */
async function signIn(ctx: Ctx, call: Call, form: URLSearchParams): Promise<PageReply> {
  const early = await withInteraction(ctx, call, async (interaction) =>
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
  return withInteraction(ctx, call, async (interaction, library) => {
    const cookies = [cookieHeader(signedIn.deviceCookie)];
    if (!mayAllow(interaction.client, signedIn.accountId)) {
      const retry = { status: 200, textKey: "otherAccount", headers: {}, email: "", challengeId: null } as const;
      return signInPage(ctx, call, interaction, retry);
    }
    await rememberSignIn(library.context, interaction, signedIn);
    return redirectReply(pathOf(interaction), cookies);
  });
}

/** A code by SMS in place of the authenticator; the page does not show whether one was sent. */
async function sendCode(ctx: Ctx, call: Call, form: URLSearchParams): Promise<PageReply> {
  const claim = claimIn(form);
  const email = form.get("email") ?? "";
  try {
    if (claim === null) throw new Problem("invalid_credentials");
    const challengeId = await sendSignInCode(ctx, call, claim);
    const again = { status: 200, textKey: null, headers: {}, email, challengeId };
    return withInteraction(ctx, call, async (interaction) => signInPage(ctx, call, interaction, again));
  } catch (error) {
    return refusedPage(ctx, call, error, { email, challengeId: challengeIn(form) });
  }
}

async function allow(interaction: Interaction, { provider, context }: Library): Promise<PageReply> {
  const { signedIn, isDecided, returnTo, grantable } = interaction;
  // The page says which of the two it is.
  if (signedIn === null || grantable.length === 0) return redirectReply(pathOf(interaction));
  // The button was pressed twice: one grant is enough.
  if (!isDecided) await approve(provider, context, interaction, signedIn);
  return redirectReply(returnTo);
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

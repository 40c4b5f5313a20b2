/** `/v1/enrolment`: from the link in a mail to a person who can sign in. The link is spent by the last step. */

import { updatePerson } from "../../accounts/index.ts";
import { normalizeMobile } from "../../identifiers/index.ts";
import { type Ctx, endpoint } from "../../kernel/http/endpoint.ts";
import { closed, identifier, nullable, oneOf, Type, text, uuid } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { type FieldError, type Language, Problem } from "../../kernel/problems.ts";
import type { Tx } from "../../kernel/tx.ts";
import { challengeSeconds, insertChallenge, spendChallenge } from "../challenges.ts";
import { renewRecoveryCodes, setCredentials } from "../credentials.ts";
import { findEnrolment, type OpenEnrolment, totpOfEnrolment } from "../enrolment.ts";
import { spendLink } from "../links.ts";
import { hashPassword, requireGoodPassword } from "../passwords.ts";
import { sendCode } from "../send-code.ts";
import { revokeSessionsOf } from "../sessions.ts";
import {
  challengeReply,
  linkToken,
  maskedPhone,
  passwordSchema,
  recoveryCodesReply,
  sixDigits,
  totpSetup,
} from "../shapes.ts";
import { checkPassword, scopeOfPerson } from "../sign-in.ts";
import { enrolmentOf, matchingStep, sealTotp } from "../totp.ts";

const shared = { tag: "enrolment", access: { kind: "public" }, limits: ["login_ip"], idempotency: "none" } as const;

export const beginEnrolment = endpoint(
  {
    ...shared,
    id: "enrolment.begin",
    method: "POST",
    path: "/v1/enrolment",
    summary: "Open an enrolment",
    description:
      "Shows whose enrolment the link is and what the authenticator needs. May be repeated; the link is spent by completing.",
    body: closed({ token: linkToken }, { title: "EnrolmentRequest" }),
    replies: {
      200: {
        description: "What to set up.",
        body: closed(
          {
            purpose: oneOf(["enrolment", "second_factor_reset"], "A new person, or a new authenticator."),
            email: Type.String({ format: "email", maxLength: 254, description: "What you will sign in with." }),
            phone: nullable(identifier("^[+0-9*]+$", "The phone we know, masked.")),
            phone_required: Type.Boolean({ description: "Whether a phone has to be verified." }),
            totp: totpSetup,
          },
          { title: "Enrolment" },
        ),
      },
    },
    errors: ["not_found"],
  },
  async (ctx, { body }) => {
    const { enrolment, secret } = await ctx.tx({ kind: "system" }, async (tx) => {
      // Held: two tabs that open the link at once must be shown one secret.
      const found = await findEnrolment(tx, ctx, body.token, "lock");
      return { enrolment: found, secret: await totpOfEnrolment(tx, ctx, found) };
    });
    const { person, link } = enrolment;
    const purpose = link.purpose === "second_factor_reset" ? link.purpose : "enrolment";
    const phone = { phone: maskedPhone(person.phone), phone_required: needsPhone(enrolment) };
    const totp = enrolmentOf(secret, person.email);
    return { status: 200, body: { purpose, email: person.email, ...phone, totp } };
  },
);

export const requestEnrolmentCode = endpoint(
  {
    ...shared,
    id: "enrolment.request_code",
    contentLimits: ["sms_minute", "sms_hour"],
    method: "POST",
    path: "/v1/enrolment/phone",
    summary: "Verify the phone",
    description: "Sends a code to the phone of the application, or to another one that is given here.",
    body: closed(
      {
        token: linkToken,
        phone: Type.Optional(text(24, { minLength: 10, pattern: "^\\+?[0-9 ().-]+$", description: "Turkish mobile." })),
      },
      { title: "EnrolmentCodeRequest" },
    ),
    replies: { 202: { description: "A message is on its way.", body: challengeReply } },
    errors: ["not_found"],
  },
  async (ctx, { body, language }) => {
    await ctx.spend(["sms_minute", "sms_hour"], body.token);
    const id = ctx.random.uuid();
    await ctx.tx({ kind: "system" }, async (tx) => {
      const { link, person } = await findEnrolment(tx, ctx, body.token);
      const phone = body.phone === undefined ? person.phone : normalizeMobile(body.phone);
      if (phone === null) {
        throw new Problem("validation_failed", { errors: [invalidField("/phone", "wrong_format", language)] });
      }
      const { id: personId, account_id: accountId } = person;
      const challenge = { id, accountId, personId, purpose: "phone", phone, linkId: link.id } as const;
      const code = await insertChallenge(tx, ctx, challenge);
      await tx.job({ task: sendCode, payload: { challenge_id: id, code } });
    });
    return { status: 202, body: { challenge_id: id, expires_in: challengeSeconds } };
  },
);

const completion = closed(
  {
    token: linkToken,
    password: passwordSchema,
    totp_code: sixDigits,
    phone_challenge_id: Type.Optional(uuid("Of the code by SMS.")),
    phone_code: Type.Optional(sixDigits),
  },
  { title: "EnrolmentCompletion" },
);

export const completeEnrolment = endpoint(
  {
    ...shared,
    id: "enrolment.complete",
    method: "POST",
    path: "/v1/enrolment/complete",
    summary: "Complete an enrolment",
    description:
      "Sets password, authenticator and phone in one step, spends the link and shows the recovery codes, this once. After a reset of the second factor, `password` is the one you have: a mailbox alone does not open an account.",
    body: completion,
    replies: { 200: { description: "You can sign in now.", body: recoveryCodesReply } },
    errors: ["not_found", "invalid_credentials", "too_many_attempts"],
  },
  async (ctx, { body, language }) => {
    const open = await ctx.tx({ kind: "system" }, (tx) => findEnrolment(tx, ctx, body.token));
    const passwordHash = await passwordFor(ctx, open, body.password, language);
    const outcome = await ctx.tx(scopeOfPerson(open.person), async (tx) => {
      const enrolment = await findEnrolment(tx, ctx, body.token, "lock");
      const checked = await check(tx, ctx, enrolment, body);
      if (checked.kind === "wrong") return checked;
      return { kind: "done", codes: await finish(tx, ctx, enrolment, { ...checked, passwordHash }) } as const;
    });
    if (outcome.kind === "done") return { status: 200, body: { recovery_codes: outcome.codes } };
    const errors: FieldError[] = outcome.pointers.map((pointer) => invalidField(pointer, "not_allowed", language));
    throw new Problem("validation_failed", { errors });
  },
);

/** A new person chooses a password; whoever only lost the second factor has to know theirs. */
async function passwordFor(ctx: Ctx, { link, person }: OpenEnrolment, password: string, language: Language) {
  if (link.purpose === "enrolment") requireGoodPassword(password, person.email, "/password", language);
  else {
    const claim = { email: person.email, password, deviceToken: undefined, allowStaff: false };
    if ((await checkPassword(ctx, claim)) === null) throw new Problem("invalid_credentials");
  }
  return hashPassword(password, ctx.random);
}

/** People who have no verified phone yet and run an account have to bring one. */
function needsPhone({ person, link }: OpenEnrolment): boolean {
  return link.purpose === "enrolment" && person.role === "owner";
}

type Checked =
  | { readonly kind: "right"; readonly secret: string; readonly step: number; readonly phone: string | null }
  | { readonly kind: "wrong"; readonly pointers: readonly string[] };

async function check(
  tx: Tx,
  ctx: Ctx,
  enrolment: OpenEnrolment,
  body: { totp_code: string; phone_challenge_id?: string; phone_code?: string },
): Promise<Checked> {
  const secret = await totpOfEnrolment(tx, ctx, enrolment);
  const step = matchingStep(secret, body.totp_code, tx.now);
  const { phone_challenge_id: id, phone_code: code } = body;
  const given = id !== undefined && code !== undefined;
  const asked = { id: id ?? "", personId: enrolment.person.id, purpose: "phone", code: code ?? "" } as const;
  const challenge = given ? await spendChallenge(tx, ctx.secrets, asked) : null;
  const phone = challenge?.linkId === enrolment.link.id ? challenge.phone : null;
  const phoneWrong = phone === null && (given || needsPhone(enrolment));
  const pointers = [...(step === null ? ["/totp_code"] : []), ...(phoneWrong ? ["/phone_code"] : [])];
  return step === null || phoneWrong ? { kind: "wrong", pointers } : { kind: "right", secret, step, phone };
}

async function finish(
  tx: Tx,
  ctx: Ctx,
  { link, person }: OpenEnrolment,
  made: {
    readonly secret: string;
    readonly step: number;
    readonly phone: string | null;
    readonly passwordHash: string;
  },
): Promise<string[]> {
  const ref = { id: person.id, accountId: person.account_id };
  const sealedTotp = sealTotp(ctx.secrets, person.id, made.secret);
  await spendLink(tx, link.id);
  await setCredentials(tx, ref, { passwordHash: made.passwordHash, sealedTotp, totpStep: made.step });
  await revokeSessionsOf(tx, person.id, "second_factor_changed");
  const phone = made.phone === null ? {} : { phone: made.phone, phone_verified_at: tx.now };
  await updatePerson(tx, person.account_id, person.id, { state: "active", ...phone });
  tx.audit({ action: "person.enrolled", targets: [{ type: "person", id: person.id }], metadata: { by: link.purpose } });
  return renewRecoveryCodes(tx, ctx, ref);
}

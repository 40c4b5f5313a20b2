/**
 * The steps of an enrolment, as the API and the pages take them: open (looks, spends nothing), ask for a code to the
 * phone, finish (sets password, authenticator and phone in one commit, spends the link, shows the recovery codes).
 */

import { isAddressTaken, mailAboutChange, type PersonRow, updatePerson } from "../../accounts/index.ts";
import { normalizeMobile } from "../../identifiers/index.ts";
import type { Ctx } from "../../kernel/http/endpoint.ts";
import type { Static } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { type Language, Problem } from "../../kernel/problems.ts";
import type { Tx } from "../../kernel/tx.ts";
import {
  enrolmentOf,
  hashPassword,
  insertChallenge,
  matchingStep,
  renewRecoveryCodes,
  requireGoodPassword,
  sealTotp,
  sendCode,
  setCredentials,
  spendChallenge,
} from "../factors/index.ts";
import { checkPassword, endAccessOf, scopeOfPerson } from "../sessions/index.ts";
import { findEnrolment, type OpenEnrolment, requireFreeAddress, totpOfEnrolment } from "./enrolment.ts";
import type { enrolmentCompletion } from "./shapes.ts";
import { spendLink } from "./store.ts";

export interface EnrolmentView {
  readonly purpose: "enrolment" | "second_factor_reset";
  readonly person: PersonRow;
  readonly phoneRequired: boolean;
  readonly totp: ReturnType<typeof enrolmentOf>;
}

/** Whose enrolment it is, and what the authenticator needs. May be repeated. `not_found` for a link that is over. */
export async function openEnrolment(ctx: Ctx, token: string): Promise<EnrolmentView> {
  const { enrolment, secret } = await ctx.tx({ kind: "system" }, async (tx) => {
    // Locked: two tabs that open the link at once must get the same secret.
    const found = await findEnrolment(tx, ctx, token, "lock");
    await requireFreeAddress(tx, found);
    return { enrolment: found, secret: await totpOfEnrolment(tx, ctx, found) };
  });
  const { person, link } = enrolment;
  const purpose = link.purpose === "second_factor_reset" ? link.purpose : "enrolment";
  return { purpose, person, phoneRequired: needsPhone(enrolment), totp: enrolmentOf(secret, person.email) };
}

/** Sends a code to the phone that we know, or to another one; the id of the challenge that it answers. */
export async function sendPhoneCode(
  ctx: Ctx,
  { token, phone: given }: { readonly token: string; readonly phone?: string },
  language: Language,
): Promise<string> {
  await ctx.spend(["sms_minute", "sms_hour"], token);
  const id = ctx.random.uuid();
  await ctx.tx({ kind: "system" }, async (tx) => {
    const found = await findEnrolment(tx, ctx, token);
    await requireFreeAddress(tx, found);
    const { link, person } = found;
    const phone = given === undefined ? person.phone : normalizeMobile(given);
    if (phone === null) {
      throw new Problem("validation_failed", { errors: [invalidField("/phone", "wrong_format", language)] });
    }
    const { id: personId, account_id: accountId } = person;
    const challenge = { id, accountId, personId, purpose: "phone", phone, linkId: link.id } as const;
    const code = await insertChallenge(tx, ctx, challenge);
    await tx.job({ task: sendCode, payload: { challenge_id: id, code } });
  });
  return id;
}

export type EnrolmentCompletion = Static<typeof enrolmentCompletion>;

/** Stores everything and uses up the link. Returns the recovery codes, which are shown only now. */
export async function finishEnrolment(ctx: Ctx, body: EnrolmentCompletion, language: Language): Promise<string[]> {
  const open = await ctx.tx({ kind: "system" }, async (tx) => {
    const found = await findEnrolment(tx, ctx, body.token);
    await requireFreeAddress(tx, found);
    return found;
  });
  const passwordHash = await passwordFor(ctx, open, body.password, language);
  const work = async (tx: Tx) => {
    const enrolment = await findEnrolment(tx, ctx, body.token, "lock");
    const checked = await check(tx, ctx, enrolment, body);
    if (checked.kind === "wrong") return checked;
    return { kind: "done", codes: await finish(tx, ctx, enrolment, { ...checked, passwordHash }) } as const;
  };
  const outcome = await ctx.tx(scopeOfPerson(open.person), work).catch((error: unknown) => {
    // Two invitations of one address were completed at once: the index lets one of them through.
    throw isAddressTaken(error) ? new Problem("state_conflict") : error;
  });
  if (outcome.kind === "done") return outcome.codes;
  const errors = outcome.pointers.map((pointer) => invalidField(pointer, "not_allowed", language));
  throw new Problem("validation_failed", { errors });
}

/** A new person chooses a password. A person who only lost the second factor must give the current password. */
async function passwordFor(ctx: Ctx, { link, person }: OpenEnrolment, password: string, language: Language) {
  if (link.purpose === "enrolment") requireGoodPassword(password, person.email, "/password", language);
  else {
    const claim = { email: person.email, password, deviceToken: undefined };
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
  const phoneMissing = !given && needsPhone(enrolment);
  // The code by SMS works once, so it is checked only when the code of the app is right.
  if (step === null) return { kind: "wrong", pointers: ["/totp_code", ...(phoneMissing ? ["/phone_code"] : [])] };
  const asked = { id: id ?? "", personId: enrolment.person.id, purpose: "phone", code: code ?? "" } as const;
  const challenge = given ? await spendChallenge(tx, ctx.secrets, asked) : null;
  const phone = challenge?.linkId === enrolment.link.id ? challenge.phone : null;
  if (phone === null && (given || phoneMissing)) return { kind: "wrong", pointers: ["/phone_code"] };
  return { kind: "right", secret, step, phone };
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
  await endAccessOf(tx, ctx, person, "second_factor_changed");
  const phone = made.phone === null ? {} : { phone: made.phone, phone_verified_at: tx.now };
  await updatePerson(tx, person.account_id, person.id, { state: "active", ...phone });
  tx.audit({ action: "person.enrolled", targets: [{ type: "person", id: person.id }], metadata: { by: link.purpose } });
  const what = link.purpose === "enrolment" ? "member_enrolled" : "authenticator_changed";
  const change = {
    accountId: ref.accountId,
    of: { person: person.id },
    by: { kind: "member", id: person.id },
  } as const;
  await mailAboutChange(tx, ctx, { what, ...change });
  return renewRecoveryCodes(tx, ctx, ref);
}

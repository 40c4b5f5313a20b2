/**
 * Signing in. A wrong address, a wrong password and a wrong code cost the same work and get the same answer: an unknown
 * address is checked against a dummy hash and a dummy authenticator, and its failures are counted too.
 *
 * The order: count the attempt (it may be refused here) → password → second factor → device → session. The steps before
 * the session are one function; the OAuth pages call it too, so they have the same rules.
 */

import { findPersonByEmail, type PersonRow } from "../../accounts/index.ts";
import { foldEmail } from "../../identifiers/index.ts";
import type { NewCookie } from "../../kernel/http/cookies.ts";
import type { Ctx } from "../../kernel/http/endpoint.ts";
import type { RowAccess } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import type { Tx } from "../../kernel/tx.ts";
import { mailMessage, sendMessage } from "../../messages/index.ts";
import {
  areCredentialsCurrent,
  attemptsId,
  countAttempt,
  dummyHash,
  findCredentials,
  forgiveAttempt,
  hashPassword,
  mayUseSms,
  setPasswordHash,
  spendFactor,
  verifyPassword,
} from "../factors/index.ts";
import { recordSignInFailure } from "./failures.ts";
import { addDevice, findSignInAccount, hasDevices, touchDevice } from "./store.ts";

export interface SignInClaim {
  readonly email: string;
  readonly password: string;
  /** Six digits of the authenticator or of an SMS, or a recovery code. */
  readonly code: string;
  /** With a code by SMS: the challenge that it answers. */
  readonly challengeId: string | undefined;
  /** Value of the cookie `__Host-device`, if there is one. */
  readonly deviceToken: string | undefined;
  /** Whether staff may sign in here; where not, they are refused like a wrong password. */
  readonly allowStaff: boolean;
}

export interface SignedIn {
  readonly personId: string;
  /** Null for staff. */
  readonly accountId: string | null;
  readonly amr: readonly string[];
  readonly authTime: Date;
  /** When the password or factor that were shown had last been replaced. */
  readonly credentialsAt: Date;
  /** To be set, so that this device is known the next time. */
  readonly deviceCookie: NewCookie;
}

export type SignInCtx = Pick<Ctx, "tx" | "secrets" | "random" | "log" | "settings" | "spend">;

/** A year: a device that was not used for longer is a new one. */
const deviceCookieSeconds = 365 * 24 * 60 * 60;

/** 256 bits. */
const deviceTokenBytes = 32;

/** A closed account can be read and restored for 90 days; its members sign in for as long, and owners later, for the proofs of erasure. */
const closedReadableMs = 90 * 24 * 60 * 60 * 1000;

/** The id that is looked up for an unknown address; no row has it. */
const unknownId = "00000000-0000-0000-0000-000000000000";

/** Checks everything that a sign-in has to show. Throws `invalid_credentials`, `too_many_attempts`, `rate_limited`. */
export async function signIn(ctx: SignInCtx, claim: SignInClaim): Promise<SignedIn> {
  const emailKey = foldEmail(claim.email);
  await ctx.spend(["login"], emailKey);
  const deviceHash = hashDevice(ctx, claim.deviceToken);
  const found = await countAndFind(ctx, emailKey, deviceHash, claim.allowStaff);
  const { matches, outdated } = await verifyPassword(found.passwordHash, claim.password);
  const person = matches ? found.person : null;
  const rehashed = person !== null && outdated ? await hashPassword(claim.password, ctx.random) : null;
  const signedIn = await ctx.tx(scopeOfPerson(found.person), async (tx) => {
    // The password was read a while ago, since checking it takes long: it may have been replaced meanwhile.
    const isCurrent = await areCredentialsCurrent(tx, person?.id ?? unknownId, found.credentialsAt);
    const { code, challengeId } = claim;
    const factor = { code, challengeId, purpose: "sign_in", smsAllowed: found.smsAllowed } as const;
    const method = await spendFactor(
      tx,
      ctx.secrets,
      person?.id ?? unknownId,
      person === null ? null : found.sealedTotp,
      factor,
    );
    if (person === null || method === null || !isCurrent) {
      const wrong = matches && isCurrent ? "code" : "password";
      await recordSignInFailure(tx, ctx, { person: found.person, wrong, lockedNow: found.lockedNow });
      return null;
    }
    await forgiveAttempt(tx, found.attempts);
    if (rehashed !== null) await setPasswordHash(tx, person.id, rehashed, false);
    const deviceCookie = await recognise(ctx, tx, person, claim.deviceToken, deviceHash);
    tx.audit({ action: "person.signed_in", targets: [{ type: "person", id: person.id }], metadata: { method } });
    const amr = ["pwd", method, "mfa"];
    const { credentialsAt } = found;
    return { personId: person.id, accountId: person.account_id, amr, authTime: tx.now, credentialsAt, deviceCookie };
  });
  if (signedIn !== null) return signedIn;
  ctx.log.info("sign_in_refused");
  throw new Problem("invalid_credentials");
}

/**
 * Checks only a member's password, with the lockout of sign-ins; used before a code by SMS is sent. Throws
 * `too_many_attempts`; null when the password is wrong. A right password counts as an attempt too, until a complete
 * sign-in: otherwise the next lockout would show whether the password was right.
 */
export async function checkPassword(
  ctx: SignInCtx,
  claim: Pick<SignInClaim, "email" | "password" | "deviceToken">,
): Promise<PersonRow | null> {
  const deviceHash = hashDevice(ctx, claim.deviceToken);
  const found = await countAndFind(ctx, foldEmail(claim.email), deviceHash, false);
  const { matches } = await verifyPassword(found.passwordHash, claim.password);
  const right = matches ? found.person : null;
  // Right or wrong, the same work.
  const failed = right === null ? found.person : null;
  await ctx.tx({ kind: "platform" }, (tx) =>
    recordSignInFailure(tx, ctx, { person: failed, wrong: "password", lockedNow: found.lockedNow }),
  );
  return right;
}

export function scopeOfPerson(person: { readonly account_id: string | null } | null): RowAccess {
  return person === null || person.account_id === null
    ? { kind: "platform" }
    : { kind: "account", accountId: person.account_id };
}

interface Found {
  readonly person: PersonRow | null;
  readonly passwordHash: string;
  readonly credentialsAt: Date;
  readonly sealedTotp: Buffer | null;
  readonly smsAllowed: boolean;
  readonly attempts: Buffer;
  readonly lockedNow: boolean;
}

/** Looks the address up and counts the attempt. An unknown address runs the same statements. */
async function countAndFind(
  ctx: SignInCtx,
  emailKey: string,
  deviceHash: Buffer | null,
  allowStaff: boolean,
): Promise<Found> {
  return ctx.tx({ kind: "system" }, async (tx) => {
    const person = await findPersonByEmail(tx, emailKey);
    const credentials = await findCredentials(tx, person?.id ?? unknownId);
    const account = await findSignInAccount(tx, person?.account_id ?? unknownId);
    const isKnown = await touchDevice(tx, person?.id ?? unknownId, deviceHash ?? Buffer.alloc(32));
    const attempts = attemptsId(ctx.secrets, emailKey, isKnown ? deviceHash : null);
    const { lockedNow } = await countAttempt(tx, attempts, ctx.settings.limitLockout);
    const closedForMs = account?.state === "closed" ? tx.now.getTime() - account.state_changed_at.getTime() : 0;
    const isReadable = closedForMs < closedReadableMs || (person?.role === "owner" && account?.erase_after != null);
    const usable = person?.state === "active" && (allowStaff || person.role !== "staff") && isReadable;
    if (!usable || credentials === undefined) {
      const nothing = { person: null, passwordHash: dummyHash, sealedTotp: null, smsAllowed: false };
      return { ...nothing, credentialsAt: tx.now, attempts, lockedNow };
    }
    const { password_hash: passwordHash, sealed_totp: sealedTotp, changed_at: credentialsAt } = credentials;
    return {
      person,
      passwordHash,
      credentialsAt,
      sealedTotp,
      smsAllowed: mayUseSms(person, account),
      attempts,
      lockedNow,
    };
  });
}

/** Returns the device cookie. A new device is stored and, unless it is the first, the person gets a mail. */
async function recognise(
  ctx: SignInCtx,
  tx: Tx,
  person: PersonRow,
  token: string | undefined,
  hash: Buffer | null,
): Promise<NewCookie> {
  const cookie = (value: string): NewCookie => ({ name: "__Host-device", value, maxAgeSeconds: deviceCookieSeconds });
  if (token !== undefined && hash !== null && (await touchDevice(tx, person.id, hash))) return cookie(token);
  const isFirst = !(await hasDevices(tx, person.id));
  const made = ctx.random.bytes(deviceTokenBytes).toString("base64url");
  await addDevice(tx, { id: person.id, accountId: person.account_id }, ctx.secrets.digest("device", made));
  // The first sign-in follows the enrolment; a mail about it would only teach people to ignore such mails.
  if (!isFirst) {
    const { email: to, language } = person;
    const id = ctx.random.uuid();
    const payload = mailMessage({ id, to, language, template: "new_device", values: { at: tx.now.toISOString() } });
    await tx.job({ task: sendMessage, payload });
  }
  return cookie(made);
}

function hashDevice(ctx: Pick<Ctx, "secrets">, token: string | undefined): Buffer | null {
  return token !== undefined && /^[A-Za-z0-9_-]{43}$/.test(token) ? ctx.secrets.digest("device", token) : null;
}

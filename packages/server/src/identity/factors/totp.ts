/**
 * Time-based codes (RFC 6238): six digits, 30 seconds, one step of tolerance to either side. Which step a code belongs
 * to is found here; that each step counts once is the database's part (`second-factor.ts`).
 */

import { timingSafeEqual } from "node:crypto";
import { generateSync, generateURI } from "otplib";
import type { Random } from "../../kernel/clock.ts";
import type { Secrets } from "../../kernel/secrets.ts";
import { qrPng, qrSvg } from "./qr.ts";

/** RFC 6238's default, which every authenticator knows. */
const stepSeconds = 30;

/** A phone's clock, and a slow typist: one step before and one after. */
const toleratedSteps = 1;

/** RFC 4226 asks for 160 bits. */
const secretBytes = 20;

export function newTotpSecret(random: Random): string {
  return base32(random.bytes(secretBytes));
}

/** The step that the code belongs to, or null. Looks at every step, so that the time does not show which one matched. */
export function matchingStep(secret: string, code: string, now: Date): number | null {
  const current = Math.floor(now.getTime() / 1000 / stepSeconds);
  const given = Buffer.from(code.padEnd(6).slice(0, 6));
  let found: number | null = null;
  for (let step = current - toleratedSteps; step <= current + toleratedSteps; step++) {
    const expected = Buffer.from(generateSync({ secret, epoch: step * stepSeconds, period: stepSeconds }));
    if (timingSafeEqual(expected, given) && code.length === 6) found = step;
  }
  return found;
}

/** The code of a moment, for tests and for the authenticator that a test plays. */
export function codeAt(secret: string, now: Date): string {
  return generateSync({ secret, epoch: Math.floor(now.getTime() / 1000), period: stepSeconds });
}

/** What an authenticator is shown: the URI, and pictures of it. */
export function enrolmentOf(
  secret: string,
  email: string,
): { totp_secret: string; otpauth_uri: string; qr_svg: string; qr_png: string } {
  const uri = generateURI({ issuer: "Emanet", label: email, secret });
  return { totp_secret: secret, otpauth_uri: uri, qr_svg: qrSvg(uri), qr_png: qrPng(uri).toString("base64") };
}

/** Sealed with the owner's id, so that the row cannot be moved to another person. */
export function sealTotp(secrets: Secrets, ownerId: string, secret: string): Buffer {
  return secrets.seal("totp-secret", Buffer.from(secret), Buffer.from(ownerId));
}

export function openTotp(secrets: Secrets, ownerId: string, sealed: Uint8Array): string {
  return secrets.unseal("totp-secret", sealed, Buffer.from(ownerId)).toString();
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** RFC 4648; 20 bytes need no padding. */
function base32(bytes: Buffer): string {
  let bits = "";
  for (const byte of bytes) bits += byte.toString(2).padStart(8, "0");
  return (bits.match(/.{5}/g) ?? []).map((five) => alphabet[Number.parseInt(five, 2)]).join("");
}

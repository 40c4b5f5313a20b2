/**
 * Passwords: Argon2id, in the PHC string form, so that each hash says what it was made with. A password that was hashed
 * with other parameters than today's is hashed again when its owner signs in.
 */

import { argon2, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import type { Random } from "../../kernel/clock.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { type FieldError, type Language, Problem } from "../../kernel/problems.ts";
import { isCommonPassword } from "./common-passwords.ts";

interface HashParameters {
  readonly memoryKib: number;
  readonly passes: number;
  readonly parallelism: number;
}

/** OWASP's first choice for Argon2id: 19 MiB and two passes, about 25 ms on one idle core. The one place to change. */
export const hashParameters: HashParameters = { memoryKib: 19_456, passes: 2, parallelism: 1 };

/** What RFC 9106 recommends for the salt, and 256 bits of result. */
const saltBytes = 16;
const tagBytes = 32;

/** Long enough that composition rules are not needed. */
export const minPasswordLength = 12;

/** Whole sentences and password managers fit; a body of megabytes does not reach the hash. */
export const maxPasswordLength = 200;

/** Ours use a hundredth; a damaged row must not make the service allocate without end. */
const maxStoredMemoryKib = 1_048_576;

const deriveKey = promisify(argon2);

export async function hashPassword(password: string, random: Random): Promise<string> {
  const salt = random.bytes(saltBytes);
  const tag = await derive(password, salt, hashParameters);
  return encode(hashParameters, salt, tag);
}

/** Whether the password belongs to the hash, and whether it should be hashed again. */
export async function verifyPassword(hash: string, password: string): Promise<{ matches: boolean; outdated: boolean }> {
  const { parameters, salt, tag } = decode(hash);
  const found = await derive(password, salt, parameters);
  const outdated =
    encode(parameters, salt, tag).split("$", 4)[3] !== encode(hashParameters, salt, tag).split("$", 4)[3];
  return { matches: timingSafeEqual(found, tag), outdated };
}

/** A hash that matches no password. Checking it takes as long as a real one, so the time does not show which addresses exist. */
export const dummyHash: string = encode(hashParameters, Buffer.alloc(saltBytes, 1), Buffer.alloc(tagBytes, 1));

/** Refuses a new password that is too easy, with the field named. */
export function requireGoodPassword(password: string, email: string, pointer: string, language: Language): void {
  const error = passwordProblem(password, email, pointer, language);
  if (error !== null) throw new Problem("validation_failed", { errors: [error] });
}

function passwordProblem(password: string, email: string, pointer: string, language: Language): FieldError | null {
  const length = [...password.normalize("NFC")].length;
  if (length < minPasswordLength) return invalidField(pointer, "too_short", language);
  if (length > maxPasswordLength) return invalidField(pointer, "too_long", language);
  const isCommon = isCommonPassword(password, [email.split("@")[0] ?? "", email.split("@")[1]?.split(".")[0] ?? ""]);
  return isCommon ? invalidField(pointer, "too_common", language) : null;
}

/** One form for all keyboards: `é` typed as one character or as two is the same password. */
async function derive(password: string, salt: Buffer, { memoryKib, passes, parallelism }: HashParameters) {
  const message = Buffer.from(password.normalize("NFC"));
  const size = { parallelism, tagLength: tagBytes, memory: memoryKib, passes };
  return Buffer.from(await deriveKey("argon2id", { message, nonce: salt, ...size }));
}

function encode({ memoryKib, passes, parallelism }: HashParameters, salt: Buffer, tag: Buffer): string {
  const bare = (bytes: Buffer) => bytes.toString("base64").replaceAll("=", "");
  return `$argon2id$v=19$m=${memoryKib},t=${passes},p=${parallelism}$${bare(salt)}$${bare(tag)}`;
}

function decode(hash: string): { parameters: HashParameters; salt: Buffer; tag: Buffer } {
  const match = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(hash);
  const [, memory = "", passes = "", parallelism = "", salt = "", tag = ""] = match ?? [];
  const parameters = { memoryKib: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  const tagBuffer = Buffer.from(tag, "base64");
  if (match === null || parameters.memoryKib > maxStoredMemoryKib || tagBuffer.length !== tagBytes) {
    throw new Error("a stored password hash is damaged");
  }
  return { parameters, salt: Buffer.from(salt, "base64"), tag: tagBuffer };
}

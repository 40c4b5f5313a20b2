/**
 * Refusals: why a target refused a call, as a word that is sent over the network. `refusalOf` makes it from the errors of the
 * engine, `errorOfRefusal` makes the error again, so a backup treats a remote target like a local one.
 *
 * A refusal is an answer: the same call gets it again. It is different from a lost answer (`AnswerLostError`), after which
 * the call is repeated.
 */

import type { CatalogErrorCode } from "../catalog/catalog.ts";
import { CatalogError } from "../catalog/catalog.ts";
import { IncompleteCatalogError } from "../catalog/claim-session.ts";
import { OutdatedKeysError } from "../catalog/outdated-keys.ts";
import { FormatError } from "../format/bytes.ts";

/**
 * `malformed`: the request breaks a rule of the format or of the protocol. `outdated_keys`: the writer's keys are of an old epoch.
 * The others are codes of the catalog.
 */
export const refusalReasons = [
  "malformed",
  "outdated_keys",
  "unknown_upload",
  "lease_expired",
  "not_closed",
  "unknown_snapshot",
  "conflict",
  "stale",
] as const;

export type RefusalReason = (typeof refusalReasons)[number];

export interface Refusal {
  readonly reason: RefusalReason;
  /** One sentence for the programmer of the client. */
  readonly detail: string;
}

const catalogReasons: ReadonlySet<string> = new Set<CatalogErrorCode>([
  "unknown_upload",
  "lease_expired",
  "not_closed",
  "unknown_snapshot",
  "conflict",
  "stale",
]);

/** Why a target refused a call; null if the error is no refusal but a fault of the target. */
export function refusalOf(error: unknown): Refusal | null {
  if (error instanceof FormatError) return { reason: "malformed", detail: error.message };
  if (error instanceof OutdatedKeysError) return { reason: "outdated_keys", detail: error.message };
  if (error instanceof IncompleteCatalogError) return { reason: "stale", detail: error.message };
  if (error instanceof CatalogError && isReason(error.code) && catalogReasons.has(error.code))
    return { reason: error.code, detail: error.message };
  return null;
}

/** The error that a local target throws for the same reason. */
export function errorOfRefusal({ reason, detail }: Refusal): Error {
  if (reason === "malformed") return new FormatError(detail);
  if (reason === "outdated_keys") return new OutdatedKeysError(detail);
  return new CatalogError(reason, detail);
}

/** Whether a word is a reason of this version. */
export function isReason(word: string): word is RefusalReason {
  return (refusalReasons as readonly string[]).includes(word);
}

/** The answer of a call did not arrive, or says that the call may be repeated: the call may have been done or not. */
export class AnswerLostError extends Error {
  override readonly name = "AnswerLostError";
  /** How long the service asks to wait; null if it said nothing. */
  readonly retryAfterMs: number | null;

  constructor(message: string, options: { readonly cause?: unknown; readonly retryAfterMs?: number | null } = {}) {
    super(message, { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

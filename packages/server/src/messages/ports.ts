/**
 * The two ports through which messages leave, and the errors of a delivery.
 *
 * Nouns: a *mail* or *SMS* is ready to send, its text rendered; a *delivery* is one attempt to hand it over.
 *
 * Invariants
 * - A port either hands the message over and returns, or throws one of the two errors below, nothing else.
 * - Neither error carries anything of the message, the recipient or the gateway's answer: job errors are kept in the
 *   database and logged. `code` is a word of ours, and there is no `cause`.
 * - Delivery is at least once: when an answer is lost, the same message is handed over again, under the same id.
 */

import { PermanentJobError, TransientJobError } from "../kernel/jobs/task.ts";
import type { Language } from "./templates.ts";

export interface OutgoingMail {
  /** UUID of the message, the same at every attempt; the `Message-ID` is made of it. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html?: string;
  readonly template: string;
  readonly language: Language;
}

export interface OutgoingSms {
  /** UUID of the message, the same at every attempt. */
  readonly id: string;
  /** E.164, e.g. `+905320000000`. */
  readonly to: string;
  readonly text: string;
  readonly template: string;
  readonly language: Language;
}

export interface MailPort {
  /** @throws PermanentDeliveryError | TransientDeliveryError */
  send(mail: OutgoingMail, signal?: AbortSignal): Promise<void>;
}

export interface SmsPort {
  /** @throws PermanentDeliveryError | TransientDeliveryError */
  send(sms: OutgoingSms, signal?: AbortSignal): Promise<void>;
}

/** The same message would be refused again: the job runner stops, as for every error of that base class. */
export class PermanentDeliveryError extends PermanentJobError {}

/** A later attempt may succeed: the job runner tries again. */
export class TransientDeliveryError extends TransientJobError {}

/**
 * The two ports that send messages, and the errors of a delivery.
 *
 * Nouns: a *mail* or *SMS* has its text rendered and is ready to send; a *delivery* is one attempt to send it.
 *
 * Invariants
 * - A port sends the message and returns, or throws one of the two errors below, and no other error.
 * - Neither error contains any part of the message, the recipient or the gateway's answer, because job errors are stored
 *   in the database and logged. `code` is one of our own words, and there is no `cause`.
 * - Delivery is at least once: when an answer is lost, the same message is sent again, with the same id.
 */

import { PermanentJobError, TransientJobError } from "../kernel/jobs/task.ts";
import type { Language } from "./templates.ts";

export interface OutgoingMail {
  /** UUID of the message, the same at every attempt; part of the `Message-ID`. */
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

/** The same message would be refused again, so the job runner does not retry. */
export class PermanentDeliveryError extends PermanentJobError {}

/** A later attempt can succeed, so the job runner retries. */
export class TransientDeliveryError extends TransientJobError {}

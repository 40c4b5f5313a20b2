/**
 * The job that sends a message: its payload, its retries and its work.
 *
 * Nouns: a *payload* is a rendered message in the queue, ready to send.
 *
 * Invariants
 * - A request never sends a message itself. It queues the payload in the transaction of its change, so the message is sent
 *   if and only if the change is committed, and at least once. A gateway that accepted a message and then failed to
 *   answer gets it again, with the same id.
 * - A payload contains personal data: an address or a phone number, and a text, which can contain a link's secret or a
 *   code. It is stored only in the row of its job, encrypted (kernel/jobs/sealed.ts). The delivery deletes the row; when a
 *   job is given up, the clean-up of the job runner empties it. A payload is never logged, and errors do not quote it.
 * - An SMS with `expires_at` is not sent after that time. One-time codes have it: a code that arrives hours later, after
 *   an outage of the gateway, is useless.
 */

import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import { retryAfter, task } from "../kernel/jobs/task.ts";
import { type MailPort, PermanentDeliveryError, type SmsPort } from "./ports.ts";
import {
  type Language,
  type MailTemplateName,
  type MailValues,
  renderMail,
  renderSms,
  type SmsTemplateName,
  type SmsValues,
} from "./templates.ts";

/** RFC 5321: a path of 256 octets with its angle brackets. */
export const addressLengthMax = 254;

/** Two lines in a mail program; our subjects are shorter than 60. */
export const subjectLengthMax = 200;

/** Ten times our longest mail. */
export const mailTextLengthMax = 20_000;

/** The text, its escapes, and the frame of the page around it. */
export const mailHtmlLengthMax = 2 * mailTextLengthMax;

/** Six parts of 67 UTF-16 units, the most that Turkish gateways join into one message. */
export const smsTextLengthMax = 402;

const id = Type.String({ pattern: "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$" });
const language = Type.Union([Type.Literal("tr"), Type.Literal("en")]);
const template = Type.String({ pattern: "^[a-z][a-z_]{0,63}$" });

const mailPayload = Type.Object(
  {
    kind: Type.Literal("mail"),
    id,
    to: Type.String({ minLength: 3, maxLength: addressLengthMax }),
    subject: Type.String({ minLength: 1, maxLength: subjectLengthMax }),
    text: Type.String({ minLength: 1, maxLength: mailTextLengthMax }),
    // A mail that an older version has queued has none.
    html: Type.Optional(Type.String({ minLength: 1, maxLength: mailHtmlLengthMax })),
    template,
    language,
  },
  { additionalProperties: false },
);

const smsPayload = Type.Object(
  {
    kind: Type.Literal("sms"),
    id,
    to: Type.String({ pattern: "^\\+[1-9][0-9]{6,14}$" }),
    text: Type.String({ minLength: 1, maxLength: smsTextLengthMax }),
    template,
    language,
    expires_at: Type.Optional(Type.String({ pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$" })),
  },
  { additionalProperties: false },
);

export type MessagePayload = Static<typeof mailPayload> | Static<typeof smsPayload>;

export interface MessagePorts {
  readonly mail: MailPort;
  readonly sms: SmsPort;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/**
 * The task of the job queue. The first retries cover a restart of the gateway, the next ones greylisting (5 to 30
 * minutes), the last ones a night with wrong settings.
 */
export const sendMessage = task<MessagePayload, MessagePorts>("messages.send", {
  parse: parseMessagePayload,
  sealed: true,
  retry: retryAfter(10_000, minuteMs, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 6 * hourMs, 12 * hourMs),
  run: async (payload, { ports, signal, clock }) => {
    if (isExpired(payload, clock.now())) throw new PermanentDeliveryError("expired");
    await sendMessageTask(ports, payload, signal);
  },
});

/** Sends one message through its port. */
export async function sendMessageTask(
  deps: MessagePorts,
  payload: MessagePayload,
  signal?: AbortSignal,
): Promise<void> {
  if (payload.kind === "mail") {
    const { kind: _kind, ...mail } = payload;
    await deps.mail.send(mail, signal);
  } else {
    const { kind: _kind, expires_at: _expiry, ...sms } = payload;
    await deps.sms.send(sms, signal);
  }
}

function isExpired(payload: MessagePayload, now: Date): boolean {
  return payload.kind === "sms" && payload.expires_at !== undefined && now > new Date(payload.expires_at);
}

/**
 * Parses a payload from the queue.
 * @throws PermanentDeliveryError when it is invalid; a retry cannot help.
 */
export function parseMessagePayload(value: unknown): MessagePayload {
  if (Value.Check(mailPayload, value) || Value.Check(smsPayload, value)) return value;
  throw new PermanentDeliveryError("invalid_payload");
}

export interface MailRequest<Name extends MailTemplateName> {
  readonly id: string;
  readonly to: string;
  readonly language: Language;
  readonly template: Name;
  readonly values: MailValues<Name>;
}

export interface SmsRequest<Name extends SmsTemplateName> {
  readonly id: string;
  /** E.164. */
  readonly to: string;
  readonly language: Language;
  /** The SMS is not sent after this time. */
  readonly expiresAt?: Date;
  readonly template: Name;
  readonly values: SmsValues<Name>;
}

/**
 * Renders a mail to a payload.
 * @throws PermanentDeliveryError when the recipient or the text cannot be sent.
 * @example
 * const payload = mailMessage({ id, to, language: "tr", template: "application_received", values: { application_id } });
 */
export function mailMessage<Name extends MailTemplateName>(request: MailRequest<Name>): MessagePayload {
  const { id, to, language, template, values } = request;
  return parseMessagePayload({ kind: "mail", id, to, language, template, ...renderMail(template, language, values) });
}

/**
 * Renders an SMS to a payload.
 * @throws PermanentDeliveryError when the recipient or the text cannot be sent.
 */
export function smsMessage<Name extends SmsTemplateName>(request: SmsRequest<Name>): MessagePayload {
  const { id, to, language, template, values, expiresAt } = request;
  const text = renderSms(template, language, values);
  const expiry = expiresAt === undefined ? {} : { expires_at: expiresAt.toISOString() };
  return parseMessagePayload({ kind: "sms", id, to, language, template, text, ...expiry });
}

export const messageTasks = [sendMessage];

/**
 * Messages to people: mail and SMS. The face of this domain; nothing else of it is imported from outside.
 *
 * It owns no table. A message is rendered when it is queued ({@link mailMessage}, {@link smsMessage}), lives in the job
 * queue until it is delivered (see `jobs.ts` for how long, and what that means for personal data), and leaves through
 * one of two ports: SMTP or files for mail, an HTTP gateway or files for SMS.
 *
 * Invariants: nothing is sent inside a request; delivery is at least once; errors, logs and metrics never quote a
 * message, a recipient or a gateway.
 */

import path from "node:path";
import type { Clock } from "../kernel/clock.ts";
import type { MessagePorts } from "./jobs.ts";
import { createOutboxMail, createOutboxSms } from "./outbox.ts";
import type { MailPort, SmsPort } from "./ports.ts";
import { createGatewaySms } from "./sms-gateway.ts";
import { createSmtpMail, parseSmtpUrl } from "./smtp.ts";

export {
  type MailRequest,
  type MessagePayload,
  type MessagePorts,
  mailMessage,
  parseMessagePayload,
  type SmsRequest,
  sendMessage,
  sendMessageTask,
  smsMessage,
} from "./jobs.ts";
export {
  type MailPort,
  type OutgoingMail,
  type OutgoingSms,
  PermanentDeliveryError,
  type SmsPort,
  TransientDeliveryError,
} from "./ports.ts";
export type { ChangeValues, SecurityChange } from "./security-changes.ts";
export {
  type ApplicantKind,
  type Language,
  languages,
  type MailTemplateName,
  type MailValues,
  type PackageName,
  renderMail,
  renderSms,
  type SmsTemplateName,
  type SmsValues,
} from "./templates.ts";

/** The settings of this domain, named as in the configuration. */
export interface MessageSettings {
  readonly dataDir: string;
  readonly smtpUrl: string | null;
  readonly mailFrom: string;
  readonly smsUrl: string | null;
  readonly smsBody: string;
  readonly smsContentType: string;
  readonly smsAuthorization: string | null;
  readonly smsSuccess: RegExp | null;
}

/**
 * Makes both ports. Called once at start, so that unusable settings stop the start and not the first message.
 * @throws TypeError naming the setting that cannot be used, never its value.
 */
export function createMessagePorts(settings: MessageSettings, deps: { readonly clock: Clock }): MessagePorts {
  return { mail: mailPort(settings, deps.clock), sms: smsPort(settings, deps.clock) };
}

/** Where messages go as files: `<data>/outbox`. */
export function outboxFolder(dataDir: string): string {
  return path.join(dataDir, "outbox");
}

function mailPort({ smtpUrl, mailFrom, dataDir }: MessageSettings, clock: Clock): MailPort {
  if (smtpUrl === null) return createOutboxMail({ folder: outboxFolder(dataDir), clock });
  return createSmtpMail({ server: parseSmtpUrl(smtpUrl), from: mailFrom, clock });
}

function smsPort(settings: MessageSettings, clock: Clock): SmsPort {
  if (settings.smsUrl === null) return createOutboxSms({ folder: outboxFolder(settings.dataDir), clock });
  return createGatewaySms({
    url: settings.smsUrl,
    bodyTemplate: settings.smsBody,
    contentType: settings.smsContentType,
    authorization: settings.smsAuthorization,
    success: settings.smsSuccess,
  });
}

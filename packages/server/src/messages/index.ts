/**
 * Messages to people: mail and SMS. This file is the public API of the domain; other domains import nothing else of it.
 *
 * The domain owns no table. A message is rendered when it is queued ({@link mailMessage}, {@link smsMessage}) and stays in
 * the job queue until it is delivered (`jobs.ts` says how long). Mail is sent by SMTP or written to files. SMS is sent to
 * an HTTP gateway or written to files.
 *
 * Invariants: a request never sends a message itself; delivery is at least once; errors, logs and metrics never contain a
 * message, a recipient or a gateway.
 */

import path from "node:path";
import type { Clock } from "../kernel/clock.ts";
import type { MessagePorts } from "./jobs.ts";
import { createFolderMail, createFolderSms } from "./message-folder.ts";
import type { MailPort, SmsPort } from "./ports.ts";
import { createGatewaySms } from "./sms-gateway.ts";
import { createSmtpMail, parseSmtpUrl } from "./smtp.ts";

export {
  type MailRequest,
  type MessagePayload,
  type MessagePorts,
  mailMessage,
  messageTasks,
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

/** The settings of this domain, with the names of the configuration. */
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
 * Makes both ports. It is called once at start, so that wrong settings fail the start and not the first message.
 * @throws TypeError that names the wrong setting, never its value.
 */
export function createMessagePorts(settings: MessageSettings, deps: { readonly clock: Clock }): MessagePorts {
  return { mail: mailPort(settings, deps.clock), sms: smsPort(settings, deps.clock) };
}

/** The folder of written messages: `<data>/outbox`. */
export function messageFolderPath(dataDir: string): string {
  return path.join(dataDir, "outbox");
}

function mailPort({ smtpUrl, mailFrom, dataDir }: MessageSettings, clock: Clock): MailPort {
  if (smtpUrl === null) return createFolderMail({ folder: messageFolderPath(dataDir), clock });
  return createSmtpMail({ server: parseSmtpUrl(smtpUrl), from: mailFrom, clock });
}

function smsPort(settings: MessageSettings, clock: Clock): SmsPort {
  if (settings.smsUrl === null) return createFolderSms({ folder: messageFolderPath(settings.dataDir), clock });
  return createGatewaySms({
    url: settings.smsUrl,
    bodyTemplate: settings.smsBody,
    contentType: settings.smsContentType,
    authorization: settings.smsAuthorization,
    success: settings.smsSuccess,
  });
}

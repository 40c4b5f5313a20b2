/**
 * Writes messages to files in a folder. The profiles `local` and `sandbox` use it until a gateway is configured. People
 * and tests read the files; nothing is sent.
 *
 * Invariants
 * - Each delivery is one JSON file, `<kind>-<time>-<id>.json`. It is complete when it appears: it is written under a
 *   temporary name, which does not end in `.json`, flushed to the disk and then renamed.
 * - Files contain personal data and one-time codes. The folder has mode 0700, the files 0600. The service never deletes
 *   them, so profile `production` refuses to start without gateways.
 */

import { mkdir } from "node:fs/promises";
import path from "node:path";
import type { Clock } from "../kernel/clock.ts";
import { replaceFile } from "../kernel/durable-file.ts";
import { type MailPort, PermanentDeliveryError, type SmsPort, TransientDeliveryError } from "./ports.ts";

export interface MessageFolder {
  /** Created when missing. */
  readonly folder: string;
  readonly clock: Clock;
}

export function createFolderMail(target: MessageFolder): MailPort {
  return { send: (mail) => writeMessage(target, "mail", mail) };
}

export function createFolderSms(target: MessageFolder): SmsPort {
  return { send: (sms) => writeMessage(target, "sms", sms) };
}

async function writeMessage(target: MessageFolder, kind: "mail" | "sms", message: { id: string }): Promise<void> {
  if (!/^[\w-]{1,64}$/.test(message.id)) throw new PermanentDeliveryError("invalid_id");
  const createdAt = target.clock.now().toISOString();
  const name = `${kind}-${createdAt.replaceAll(/[-:.]/g, "")}-${message.id}.json`;
  const text = `${JSON.stringify({ kind, created_at: createdAt, ...message }, null, 2)}\n`;
  try {
    await mkdir(target.folder, { recursive: true, mode: 0o700 });
    await replaceFile(path.join(target.folder, name), text, 0o600);
  } catch {
    // The original error contains the path and would be stored with the job. A retry can help: the disk may be full now.
    throw new TransientDeliveryError("outbox_not_writable");
  }
}

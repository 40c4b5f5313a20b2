/**
 * Messages as files: what the profiles `local` and `sandbox` do until a gateway is set. People read them, tests read
 * them, nobody sends them on.
 *
 * Invariants
 * - One JSON file per delivery, `<kind>-<time>-<id>.json`, complete when it appears: it is written beside, flushed to
 *   the disk and then renamed. A draft beside it does not end in `.json`.
 * - Files hold personal data and one-time codes: the folder has mode 0700, the files 0600. They stay until somebody
 *   removes them, which is why profile `production` refuses to work without gateways.
 */

import { mkdir } from "node:fs/promises";
import path from "node:path";
import type { Clock } from "../kernel/clock.ts";
import { replaceFile } from "../kernel/durable-file.ts";
import { type MailPort, PermanentDeliveryError, type SmsPort, TransientDeliveryError } from "./ports.ts";

export interface OutboxOptions {
  /** Made when missing. */
  readonly folder: string;
  readonly clock: Clock;
}

export function createOutboxMail(options: OutboxOptions): MailPort {
  return { send: (mail) => writeMessage(options, "mail", mail) };
}

export function createOutboxSms(options: OutboxOptions): SmsPort {
  return { send: (sms) => writeMessage(options, "sms", sms) };
}

async function writeMessage(options: OutboxOptions, kind: "mail" | "sms", message: { id: string }): Promise<void> {
  if (!/^[\w-]{1,64}$/.test(message.id)) throw new PermanentDeliveryError("invalid_id");
  const createdAt = options.clock.now().toISOString();
  const name = `${kind}-${createdAt.replaceAll(/[-:.]/g, "")}-${message.id}.json`;
  const text = `${JSON.stringify({ kind, created_at: createdAt, ...message }, null, 2)}\n`;
  try {
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    await replaceFile(path.join(options.folder, name), text, 0o600);
  } catch {
    // The error names the path, which ends in the job's record; a full disk or a missing right passes.
    throw new TransientDeliveryError("outbox_not_writable");
  }
}

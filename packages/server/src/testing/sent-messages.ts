/** Mails and SMS that a service under test has written to its message folder. Jobs send messages, so tests wait for them. */

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { storedRows } from "./rows.ts";
import type { TestService } from "./running.ts";

export interface SentMessage {
  readonly id: string;
  readonly kind: "mail" | "sms";
  readonly to: string;
  readonly template: string;
  readonly language: "tr" | "en";
  /** Of a mail. */
  readonly subject?: string;
  readonly text: string;
}

/** Far beyond what a job takes on a busy machine. */
const patienceMs = 60_000;
const pollMs = 50;

/** All messages so far, oldest first. */
export async function sentMessages(dataDir: string): Promise<SentMessage[]> {
  const folder = path.join(dataDir, "outbox");
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".json"));
  const texts = await Promise.all(names.sort().map((name) => readFile(path.join(folder, name), "utf8")));
  return texts.map((text) => JSON.parse(text) as SentMessage);
}

/** All messages, read when no due job is left. */
export async function settledMessages({ dataDir, database, clock }: TestService): Promise<SentMessage[]> {
  const query = `select 1 from emanet.jobs
    where failed_at is null and run_at <= $1 and task ~ '^(messages|identity)[.]' limit 1`;
  for (let waited = 0; waited < patienceMs; waited += pollMs) {
    if ((await storedRows(database, query, [clock.now()])).length === 0) return sentMessages(dataDir);
    await delay(pollMs);
  }
  throw new Error("jobs are still waiting");
}

/** The newest message of a template to one recipient. Waits until `count` of them were sent. */
export async function messageTo(dataDir: string, to: string, template: string, count = 1): Promise<SentMessage> {
  for (let waited = 0; waited < patienceMs; waited += pollMs) {
    const found = (await sentMessages(dataDir)).filter((one) => one.to === to && one.template === template);
    const newest = found.at(-1);
    if (newest !== undefined && found.length >= count) return newest;
    await delay(pollMs);
  }
  throw new Error(`no ${template} to ${to}`);
}

/** Waits until every job of these tasks is done or given up. */
export async function jobsDone(service: Pick<TestService, "database">, ...tasks: readonly string[]): Promise<void> {
  const query = "select from emanet.jobs where task = any ($1) and failed_at is null";
  for (let waited = 0; waited < patienceMs; waited += pollMs) {
    if ((await storedRows(service.database, query, [tasks])).length === 0) return;
    await delay(pollMs);
  }
  throw new Error(`jobs of ${tasks.join()} are not done`);
}

/** The secret of the link in a mail. */
export function tokenIn({ text }: SentMessage): string {
  return /#([a-z]{3}_[\w-]{43})/.exec(text)?.[1] ?? assert.fail(`no link in ${text}`);
}

/** The six digits of an SMS. */
export function codeIn({ text }: SentMessage): string {
  return /\d{6}/.exec(text)?.[0] ?? assert.fail(`no code in ${text}`);
}

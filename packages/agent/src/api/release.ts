/**
 * Versions of the agent. A backup reports this one to the service once a day; the answer names the newest, which is remembered beside the sign-in.
 * `backup`, `status` and `doctor` say when a newer one is there and how to get it.
 */

import path from "node:path";
import type { Agent } from "@emanet/client/source";
import type { AgentContext } from "../context.ts";
import { readJsonFile, textIn, writeSecretFile } from "../state/secret-file.ts";
import type { Connection } from "./connection.ts";

/** A backup that runs every night asks every night, also when it begins an hour earlier. */
const everyMs = 20 * 3_600_000;

/** A backup ends without the answer after this time. */
const patienceMs = 10_000;

/** Reports this version where that was not done today, or was done by another version. It never fails: a backup is more important. */
export async function reportVersion(
  { now, version }: AgentContext,
  { client, folder }: Connection,
  agentId: string,
): Promise<void> {
  try {
    const stored = storedIn(folder);
    const isRecent = typeof stored.at === "number" && Math.abs(now() - stored.at) < everyMs;
    if (isRecent && stored.version === version) return;
    const once = { retries: { max: 0 }, signal: AbortSignal.timeout(patienceMs) };
    noteRelease({ now, version }, folder, await client.agents.update({ id: agentId, body: { version } }, once));
  } catch {
    // The next backup reports it.
  }
}

/** Remembers what the service says about versions. */
export function noteRelease(
  { now, version }: Pick<AgentContext, "now" | "version">,
  folder: string,
  { newest_version: newest }: Pick<Agent, "newest_version">,
): void {
  writeSecretFile(fileIn(folder), `${JSON.stringify({ at: now(), version, newest })}\n`);
}

/** The newest version, where it is newer than this one; else null. */
export function newerVersion({ version }: Pick<AgentContext, "version">, folder: string): string | null {
  const newest = textIn(storedIn(folder), "newest");
  return newest !== null && isNewer(newest, version) ? newest : null;
}

/** Whether `a` comes after `b`, as https://semver.org orders numbers; a version with a suffix is before the one without. */
export function isNewer(a: string, b: string): boolean {
  const [left, right] = [partsOf(a), partsOf(b)];
  if (left === null || right === null) return false;
  for (const [i, number] of left.numbers.entries()) {
    const other = right.numbers[i] ?? 0;
    if (number !== other) return number > other;
  }
  return !left.hasSuffix && right.hasSuffix;
}

function partsOf(version: string): { readonly numbers: readonly number[]; readonly hasSuffix: boolean } | null {
  const [, ...parts] = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(-[0-9A-Za-z.-]+)?$/.exec(version) ?? [];
  return parts.length === 0 ? null : { numbers: parts.slice(0, 3).map(Number), hasSuffix: parts[3] !== undefined };
}

/** A file that cannot be read says nothing: no backup fails because of it. */
function storedIn(folder: string): Readonly<Record<string, unknown>> {
  try {
    return readJsonFile(fileIn(folder)) ?? {};
  } catch {
    return {};
  }
}

function fileIn(folder: string): string {
  return path.join(folder, "release.json");
}

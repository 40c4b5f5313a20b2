/** `forget`: deletes snapshots of a local repository, by id or by what a rule keeps. On the service people and its own rules do that. */

import { deleteSnapshot, planRetention, type RetentionPolicy } from "@emanet/engine";
import { allSnapshots } from "@emanet/engine/vault";
import { type ExitCode, exitCodes, usage } from "../failure.ts";
import { timeText } from "../output/numbers.ts";
import { safeText } from "../output/safe-text.ts";
import type { LocalPlace } from "../places/local-place.ts";
import { localPlace } from "../places/local-place.ts";
import type { Command, Run } from "./command.ts";
import { findSnapshot } from "./options.ts";

/** A hundred years of days. */
const maxKept = 36_500;

export const forget: Command = async (run) => {
  const { line } = run;
  const place = await localPlace(run, line.text("repo") ?? "");
  try {
    const ids = line.words.length > 0 ? await named(place, line.words) : await byRule(run, place);
    return await remove(run, place, ids);
  } finally {
    await place.close();
  }
};

async function named(place: LocalPlace, words: readonly string[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const word of words) ids.push((await findSnapshot(place, word, null)).id);
  return ids;
}

async function byRule({ line, now }: Run, place: LocalPlace): Promise<readonly string[]> {
  const keep = (name: "last" | "daily" | "weekly" | "monthly" | "yearly") => line.number(`keep-${name}`, 1, maxKept);
  const policy: RetentionPolicy = {
    last: keep("last") ?? 0,
    daily: keep("daily") ?? 0,
    weekly: keep("weekly") ?? 0,
    monthly: keep("monthly") ?? 0,
    yearly: keep("yearly") ?? 0,
  };
  if (Object.values(policy).every((count) => count === 0))
    throw usage("forget needs snapshots, or a rule such as --keep-daily 14");
  const all = await Array.fromAsync(allSnapshots(place.repository.catalog));
  const source = line.text("source");
  const rows = all.filter((row) => source === null || row.source === source);
  return planRetention(rows, policy, now()).remove;
}

async function remove(run: Run, place: LocalPlace, ids: readonly string[]): Promise<ExitCode> {
  const isTrial = run.line.has("dry-run");
  for (const id of ids) {
    const info = await place.get(id);
    if (!isTrial) await deleteSnapshot(place.repository.vault, id);
    run.data({ type: "forgotten", id, source: info?.source ?? null, dry_run: isTrial });
    run.say(
      `${isTrial ? "would forget" : "forgotten"} ${id}  ${timeText(info?.createdAt ?? 0, run.environment.language)}  ${safeText(info?.source ?? "")}`,
    );
  }
  return exitCodes.done;
}

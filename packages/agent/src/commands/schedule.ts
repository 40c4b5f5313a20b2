/** `schedule`: makes or removes a daily backup by the scheduler of this system. */

import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { CommandFailure, exitCodes, usage } from "../failure.ts";
import type { SchedulePlan, SchedulerName } from "../schedule/schedulers.ts";
import { planSchedule, schedulerNames } from "../schedule/schedulers.ts";
import { readSignIn } from "../state/sign-in.ts";
import type { Command, Run } from "./command.ts";

export const schedule: Command = async (run) => {
  const { line } = run;
  const source = line.text("source");
  if (source === null) throw usage("schedule needs --source NAME");
  const isRemoval = line.has("remove");
  if (!isRemoval && line.words.length === 0) throw usage("schedule needs at least one path");
  const scheduler = schedulerOf(run);
  const plan = planSchedule(scheduler, {
    name: nameOf(source),
    description: `Emanet: ${source}`,
    command: [...run.program, "backup", ...line.words.map((each) => path.resolve(each)), ...optionsOf(run, source)],
    ...timeOf(line.text("at") ?? "02:00"),
    home: run.environment.home,
  });
  run.data({ type: "schedule", scheduler, files: plan.files, commands: plan.commands, cron: plan.cron?.line ?? null });
  if (line.has("print")) print(run, plan);
  else if (isRemoval) remove(run, plan);
  else {
    assertSignedIn(run);
    assertThere([...line.words, ...line.list("exclude-file")]);
    install(run, plan);
  }
  return exitCodes.done;
};

/** A scheduler has none of the variables of this shell. */
function assertSignedIn({ environment }: Run): void {
  if (readSignIn({ ...environment, url: null, caFile: null, clientId: null, clientSecret: null }) !== null) return;
  throw new CommandFailure("a scheduled backup needs a stored sign-in; variables of this shell do not reach it", {
    exitCode: exitCodes.notSignedIn,
    advice: "Run `emanet login` first.",
  });
}

/** A mistyped folder would be found by nobody but the log of the night. */
function assertThere(names: readonly string[]): void {
  const missing = names.filter((name) => !existsSync(name));
  if (missing.length > 0) throw usage(`not found: ${missing.map((name) => path.resolve(name)).join(", ")}`);
}

function schedulerOf({ line, environment }: Run): SchedulerName {
  const wanted = line.text("with");
  const named = schedulerNames.find((each) => each === wanted);
  if (wanted !== null && named === undefined) throw usage(`--with is one of ${schedulerNames.join(", ")}`);
  if (named !== undefined) return named;
  if (environment.platform === "darwin") return "launchd";
  if (environment.platform === "win32") return "tasks";
  return existsSync("/run/systemd/system") ? "systemd" : "cron";
}

function timeOf(text: string): { readonly hour: number; readonly minute: number } {
  const [, hour, minute] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (hour === undefined || minute === undefined) throw usage("--at takes a time such as 02:00");
  return { hour: Number(hour), minute: Number(minute) };
}

/** Letters and digits of ASCII; two sources whose names differ otherwise get different names by their bytes. */
function nameOf(source: string): string {
  const plain = source
    .normalize("NFKD")
    .replaceAll("ı", "i")
    .replaceAll(/[^A-Za-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .toLowerCase();
  const isExact = plain === source;
  return isExact ? plain : `${plain || "source"}-${Buffer.from(source).toString("hex").slice(-6)}`;
}

function optionsOf({ line }: Run, source: string): readonly string[] {
  const lists = (["include", "exclude", "exclude-file"] as const).flatMap((name) =>
    line.list(name).map((value) => `--${name}=${name === "exclude-file" ? path.resolve(value) : value}`),
  );
  const flags = (["exclude-caches", "per-taxpayer"] as const).filter((name) => line.has(name));
  const profile = line.text("profile");
  return [
    ...[`--source=${source}`, "--trigger=schedule", "--quiet", ...lists, ...flags.map((name) => `--${name}`)],
    ...(profile === null ? [] : [`--profile=${profile}`]),
  ];
}

function print(run: Run, { files, commands, cron }: SchedulePlan): void {
  for (const { path: file, content } of files) run.say(`# ${file}\n${content}`);
  for (const command of commands) run.say(`$ ${command.join(" ")}`);
  if (cron !== null) run.say(cron.line);
}

function install(run: Run, { files, commands, cron }: SchedulePlan): void {
  for (const { path: file, content } of files) {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content, { mode: 0o600 });
    run.say(file);
  }
  for (const command of commands) execute(run, command);
  if (cron !== null) changeTable(run, cron.mark, cron.line);
}

function remove(run: Run, { undo, cron }: SchedulePlan): void {
  for (const command of undo.commands) execute(run, command);
  for (const file of undo.files) rmSync(file, { force: true });
  if (cron !== null) changeTable(run, cron.mark, null);
}

function execute(run: Run, command: readonly string[], input?: string): string {
  const { code, output } = run.execute(command, input);
  if (code === 0) return output;
  throw new CommandFailure(`${command.join(" ")} ended with ${code}: ${output.trim()}`);
}

/** Replaces the line with the mark in the user's table, or adds it. Every other line stays as it is. */
function changeTable(run: Run, mark: string, line: string | null): void {
  const before = run.execute(["crontab", "-l"]);
  const lines = before.code === 0 ? before.output.split("\n") : [];
  const others = lines.filter((each) => !each.endsWith(mark));
  while (others.at(-1) === "") others.pop();
  execute(run, ["crontab", "-"], `${[...others, ...(line === null ? [] : [line])].join("\n")}\n`);
}

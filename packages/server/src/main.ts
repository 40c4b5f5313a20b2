/**
 * The service's command: `npm start` and `npm start -- <role>`. It reads the settings, starts the service, prints its URL
 * to standard output, and stops on SIGTERM or SIGINT. Only this file ends the process.
 */

import type * as Commands from "./commands.ts";
import { type Config, ConfigError, readConfig, unknownSettings } from "./config.ts";
import { monotonicMs } from "./kernel/clock.ts";
import { StartError } from "./kernel/start-error.ts";
import { CertificateError } from "./kernel/transport/certificate-pair.ts";
import { isUuid } from "./kernel/uuid.ts";
import { isRole, roles } from "./roles.ts";
import type { Running } from "./start.ts";

const help = `Usage: npm start [-- <role>]

Roles
  all       answers requests and runs jobs (default)
  api       answers requests
  worker    runs jobs
  migrate   brings the database up to date and ends

Commands (with the embedded database: while the service is stopped)
  rewrap                         seals the database's root key with a new master key: EMANET_NEW_MASTER_KEY, or a new
                                 <data>/master.key when EMANET_MASTER_KEY is not set
  staff add <e-mail> <name>      adds one of the platform's staff and prints their enrolment link
  rebuild-index [--vault ID]     makes a lost database again from the object store and the master key, or the
                                 catalog of one vault while others are served
  recover                        brings a database and an object store of different days together
                                 Both take --json; exit code 3: something is missing, and is named (docs/DISASTER.md)

Settings are EMANET_… variables: see docs/SETTINGS.md. On standard output a line "ready <url>" says that requests
are served; logs go to standard error as JSON lines.
`;

/** The usual exit code of a usage error. */
const exitUsage = 2;
const exitFailed = 1;
/** Of a recovery that has found everything but some content. */
const exitIncomplete = 3;

await run(process.argv.slice(2));

async function run(words: readonly string[]): Promise<void> {
  if (words.includes("--help") || words.includes("-h")) return say(help);
  if (words[0] === "rewrap" && words.length === 1) return command(({ rewrapMasterKey }) => rewrapMasterKey);
  if (words[0] === "staff" && words[1] === "add" && words.length === 4) {
    const [, , email = "", name = ""] = words;
    return command(
      ({ addStaffMember }) =>
        (config) =>
          addStaffMember(config, email, name),
    );
  }
  const recovery = recoveryOf(words);
  if (recovery !== null) return recoverBy(recovery);
  const [role = "all", ...rest] = words;
  if (!isRole(role) || rest.length > 0) return end(exitUsage, `unknown role; one of ${roles.join(", ")}\n\n${help}`);
  try {
    // First, because a misspelt name is the likeliest reason for a missing setting.
    for (const name of unknownSettings())
      complain(`warning: ${name} is not a setting of the service; see docs/SETTINGS.md`);
    const config = readConfig();
    // Only now, so that wrong arguments and settings are reported at once.
    const { start } = await import("./start.ts");
    const running = await start({ config, role });
    if (role === "migrate") {
      if (running.masterKeyWarning !== null) complain(running.masterKeyWarning);
      await running.stop();
      return say("migrated\n");
    }
    announce(running);
    stopOnSignals(running);
  } catch (error) {
    fail(error);
  }
}

/** Runs one command, prints its result, and ends. */
async function command(choose: (commands: typeof Commands) => (config: Config) => Promise<string>): Promise<void> {
  try {
    const config = readConfig();
    const work = choose(await import("./commands.ts"));
    say(`${await work(config)}\n`);
  } catch (error) {
    fail(error);
  }
}

interface RecoveryWords {
  readonly name: "rebuild-index" | "recover";
  readonly vaultId?: string | undefined;
  readonly json: boolean;
}

/** The words of a recovery; null for anything else. */
function recoveryOf(words: readonly string[]): RecoveryWords | null {
  const [name, ...options] = words.filter((word) => word !== "--json");
  const json = words.includes("--json");
  if (name === "recover" && options.length === 0) return { name, json };
  if (name !== "rebuild-index") return null;
  if (options.length === 0) return { name, json };
  const [flag, vaultId = ""] = options;
  return flag === "--vault" && options.length === 2 && isUuid(vaultId) ? { name, vaultId, json } : null;
}

async function recoverBy({ name, ...words }: RecoveryWords): Promise<void> {
  try {
    const config = readConfig();
    const { rebuildIndexOf, recoverServiceOf } = await import("./commands.ts");
    const work = name === "recover" ? recoverServiceOf : rebuildIndexOf;
    const { text, isWhole } = await work(config, { ...words, say: complain });
    say(`${text}\n`);
    if (!isWhole) process.exitCode = exitIncomplete;
  } catch (error) {
    fail(error);
  }
}

function fail(error: unknown): void {
  const expected = error instanceof ConfigError || error instanceof StartError || error instanceof CertificateError;
  end(exitFailed, expected ? error.message : String(error instanceof Error ? error.stack : error));
}

function announce({ url, caFile, metricsUrl, firstRunFile, masterKeyWarning }: Running): void {
  if (masterKeyWarning !== null) complain(masterKeyWarning);
  if (firstRunFile !== null) say(`first run ${firstRunFile}\n`);
  if (caFile !== null) say(`certificate authority ${caFile}\n`);
  if (metricsUrl !== null) say(`metrics ${metricsUrl}\n`);
  if (url !== null) say(`dashboard ${url}/\n`);
  say(url === null ? "ready\n" : `ready ${url}\n`);
}

/**
 * A terminal sends Ctrl-C to every process of its group, and `tools/run.mjs` passes signals on, so one Ctrl-C arrives two
 * or three times. Signals within this time count as one.
 */
const sameSignalMs = 2_000;

/** The first signal drains; a second one ends the process at once. */
function stopOnSignals(running: Running): void {
  let askedAtMs: number | null = null;
  const stop = async (code: number) => {
    if (askedAtMs !== null && monotonicMs() - askedAtMs < sameSignalMs) return;
    if (askedAtMs !== null) process.exit(exitFailed);
    askedAtMs = monotonicMs();
    await running.stop();
    process.exit(code);
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => void stop(0));
  process.on("SIGHUP", () => void running.reload());
  void running.lost.then((error) => {
    complain(error.message);
    return stop(exitFailed);
  });
}

function say(text: string): void {
  process.stdout.write(text);
}

function complain(text: string): void {
  process.stderr.write(`emanet: ${text}\n`);
}

function end(code: number, text: string): void {
  complain(text);
  process.exit(code);
}

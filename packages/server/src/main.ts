/**
 * The service's command: `npm start` and `npm start -- <role>`. Reads the settings, starts, says where it is on standard
 * output, and stops on SIGTERM or SIGINT. The only place that ends the process.
 */

import { ConfigError, readConfig, unknownSettings } from "./config.ts";
import { StartError } from "./kernel/start-error.ts";
import { CertificateError } from "./kernel/transport/certificates.ts";
import { type Role, type Running, roles, start } from "./start.ts";

const help = `Usage: npm start [-- <role>]

Roles
  all       answers requests and runs jobs (default)
  api       answers requests
  worker    runs jobs
  migrate   brings the database up to date and ends

Settings are EMANET_… variables: see docs/SETTINGS.md. On standard output a line "ready <url>" says that requests
are served; logs go to standard error as JSON lines.
`;

/** Like a usage error of any other command. */
const exitUsage = 2;
const exitFailed = 1;

await run(process.argv.slice(2));

async function run(words: readonly string[]): Promise<void> {
  if (words.includes("--help") || words.includes("-h")) return say(help);
  const [role = "all", ...rest] = words;
  if (!isRole(role) || rest.length > 0) return end(exitUsage, `unknown role; one of ${roles.join(", ")}\n\n${help}`);
  try {
    const config = readConfig();
    for (const name of unknownSettings())
      complain(`warning: ${name} is not a setting of the service; see docs/SETTINGS.md`);
    const running = await start({ config, role });
    if (role === "migrate") {
      await running.stop();
      return say("migrated\n");
    }
    announce(running);
    stopOnSignals(running);
  } catch (error) {
    const expected = error instanceof ConfigError || error instanceof StartError || error instanceof CertificateError;
    end(exitFailed, expected ? error.message : String(error instanceof Error ? error.stack : error));
  }
}

function isRole(word: string): word is Role {
  return roles.some((role) => role === word);
}

function announce({ url, caFile, metricsUrl }: Running): void {
  if (caFile !== null) say(`certificate authority ${caFile}\n`);
  say(`metrics ${metricsUrl}\n`);
  say(url === null ? "ready\n" : `ready ${url}\n`);
}

/** The first signal drains; a second one, from somebody who will not wait, ends at once. */
function stopOnSignals(running: Running): void {
  let stopping = false;
  const stop = async (code: number) => {
    if (stopping) process.exit(exitFailed);
    stopping = true;
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

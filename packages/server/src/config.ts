/**
 * The configuration of the service: reads the settings of `settings.ts`, and the messages for wrong values, for settings
 * that contradict each other, and for those that production must set. `docs/SETTINGS.md` comes from the same table. This
 * file is the only reader of the environment.
 */

import ipaddr from "ipaddr.js";
import { type Setting, settings } from "./settings.ts";

export type { ListenAddress, Rate } from "./setting-parsers.ts";
export { type Profile, profiles } from "./settings.ts";

export type Config = { readonly [Name in keyof typeof settings]: (typeof settings)[Name]["fallback"] };

/** Thrown for settings that cannot be used; `problems` has one sentence per finding. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The settings cannot be used:\n${problems.map((problem) => `  - ${problem}`).join("\n")}`);
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** Parses and checks the environment; collects every finding before it throws. */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
  const problems: string[] = [];
  const entries = Object.entries<Setting<unknown>>(settings).map(([name, setting]) => {
    const text = environment[setting.variable];
    if (text === undefined || text === "") return [name, setting.fallback];
    try {
      return [name, setting.parse(text)];
    } catch (error) {
      problems.push(`${setting.variable} must be ${(error as Error).message}`);
      return [name, setting.fallback];
    }
  });
  const config = Object.freeze(Object.fromEntries(entries)) as Config;
  problems.push(...contradictions(config), ...unsafeInProduction(config));
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** Variables that begin with EMANET_ and are no settings: most likely a typing mistake. */
export function unknownSettings(environment: Readonly<Record<string, string | undefined>> = process.env): string[] {
  const known = new Set([...settingReference().map((row) => row.variable), ...clientVariables]);
  return Object.keys(environment).filter((name) => name.startsWith("EMANET_") && !known.has(name));
}

/** What the agent and the recipes read; often exported in the same shell. */
const clientVariables = ["EMANET_URL", "EMANET_CA_FILE", "EMANET_CLIENT_ID", "EMANET_CLIENT_SECRET"];

/** The rows of `docs/SETTINGS.md`. */
export function settingReference(): readonly {
  variable: string;
  default: string;
  about: string;
  production: string;
}[] {
  return Object.values<Setting<unknown>>(settings).map((setting) => ({
    variable: setting.variable,
    default: setting.shownDefault,
    about: setting.about,
    production: setting.productionNeeds ?? "",
  }));
}

function contradictions(config: Config): string[] {
  const problems: string[] = [];
  if ((config.tlsCert === null) !== (config.tlsKey === null)) {
    problems.push("EMANET_TLS_CERT and EMANET_TLS_KEY must be set together");
  }
  if (config.behindProxy && config.trustedProxies.length === 0) {
    problems.push("EMANET_BEHIND_TLS_PROXY needs EMANET_TRUSTED_PROXIES, or every client would look like the proxy");
  }
  if (config.storage === "memory:" && config.profile !== "sandbox") {
    problems.push("EMANET_STORAGE may be memory: only with EMANET_PROFILE=sandbox, because it ends with the process");
  }
  const limitsSet = Object.keys(settings).filter(
    (name) => /^limit[A-Z]/.test(name) && config[name as keyof Config] !== null,
  );
  if (config.profile !== "sandbox" && limitsSet.length > 0) {
    problems.push("EMANET_LIMIT_… may be set only with EMANET_PROFILE=sandbox");
  }
  if (config.profile !== "production" && !config.allowRemote) {
    for (const name of ["listen", "metricsListen"] as const) {
      if (isLoopback(config[name].host)) continue;
      const { variable } = settings[name];
      problems.push(
        `${variable} must be a loopback address in profile ${config.profile}, or set EMANET_ALLOW_REMOTE=1`,
      );
    }
  }
  return problems;
}

function unsafeInProduction(config: Config): string[] {
  if (config.profile !== "production") return [];
  const problems = Object.entries<Setting<unknown>>(settings)
    .filter(([name, setting]) => setting.productionNeeds && config[name as keyof Config] === setting.fallback)
    .map(([, setting]) => `${setting.variable} must be set in production: ${setting.productionNeeds}`);
  if (config.tlsCert === null && !config.behindProxy) {
    problems.push("EMANET_TLS_CERT and EMANET_TLS_KEY (or EMANET_BEHIND_TLS_PROXY=1) must be set in production");
  }
  return problems;
}

function isLoopback(host: string): boolean {
  if (host === "localhost") return true;
  return ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback";
}

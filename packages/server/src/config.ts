/**
 * The settings of the service: one table, from which come the typed configuration, the messages for bad values, the
 * list of what production must set, and `docs/SETTINGS.md`. This file is the only reader of the environment.
 *
 * A *setting* is one row: its variable, how its text is parsed, its default, and what it is for. A row may refuse its
 * default in profile `production`, where a convenient default would be an unsafe one.
 */

import path from "node:path";
import ipaddr from "ipaddr.js";

export const profiles = ["local", "sandbox", "production"] as const;
export type Profile = (typeof profiles)[number];

/** Host and port to bind; port 0 takes a free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

interface Setting<T> {
  readonly variable: string;
  /** Throws an Error whose message completes "EMANET_X must be …". */
  readonly parse: (text: string) => T;
  readonly fallback: T;
  /** What the reference shows as the default. */
  readonly shownDefault: string;
  readonly about: string;
  /** Why production refuses the default; absent where the default is safe. */
  readonly productionNeeds?: string;
}

const settings = {
  profile: {
    variable: "EMANET_PROFILE",
    parse: oneOf(profiles),
    fallback: "local" as Profile,
    shownDefault: "local",
    about:
      "`local` runs with embedded defaults, `sandbox` is for tests, `production` refuses unsafe defaults. A data folder remembers its profile and opens under no other.",
  },
  dataDir: {
    variable: "EMANET_DATA_DIR",
    parse: (text) => path.resolve(text),
    fallback: path.resolve("data"),
    shownDefault: "./data",
    about: "Folder for everything the service keeps on this machine.",
  },
  listen: {
    variable: "EMANET_LISTEN",
    parse: listenAddress,
    fallback: { host: "127.0.0.1", port: 8443 },
    shownDefault: "127.0.0.1:8443",
    about: "`host:port` of the API; port 0 takes a free one.",
  },
  metricsListen: {
    variable: "EMANET_METRICS_LISTEN",
    parse: listenAddress,
    fallback: { host: "127.0.0.1", port: 0 },
    shownDefault: "127.0.0.1:0",
    about: "`host:port` of the Prometheus listener (`/metrics`), plain HTTP; keep it on a private address.",
  },
  allowRemote: {
    variable: "EMANET_ALLOW_REMOTE",
    parse: flag,
    fallback: false,
    shownDefault: "0",
    about: "`1` lets the profiles `local` and `sandbox` bind an address that is not loopback.",
  },
  publicUrl: {
    variable: "EMANET_PUBLIC_URL",
    parse: publicUrl,
    fallback: null as string | null,
    shownDefault: "the address bound",
    about: "The address customers use; the only source of absolute URLs (links in mails, problem types).",
    productionNeeds: "links in mails and problem types must not point at the address bound",
  },
  trustedProxies: {
    variable: "EMANET_TRUSTED_PROXIES",
    parse: cidrList,
    fallback: [] as readonly string[],
    shownDefault: "none",
    about: "CIDRs, comma-separated. `X-Forwarded-For` is believed only from there.",
  },
  behindProxy: {
    variable: "EMANET_BEHIND_TLS_PROXY",
    parse: flag,
    fallback: false,
    shownDefault: "0",
    about: "`1` serves plain HTTP for a TLS-terminating proxy in front; needs `EMANET_TRUSTED_PROXIES`.",
  },
  tlsCert: {
    variable: "EMANET_TLS_CERT",
    parse: filePath,
    fallback: null as string | null,
    shownDefault: "made by the local authority",
    about: "PEM file with the certificate chain; read again on SIGHUP.",
  },
  tlsKey: {
    variable: "EMANET_TLS_KEY",
    parse: filePath,
    fallback: null as string | null,
    shownDefault: "made by the local authority",
    about: "PEM file with the private key of `EMANET_TLS_CERT`.",
  },
  tlsNames: {
    variable: "EMANET_TLS_NAMES",
    parse: hostList,
    fallback: [] as readonly string[],
    shownDefault: "none",
    about: "Further host names or addresses for the local authority's certificate, comma-separated.",
  },
  databaseUrl: {
    variable: "EMANET_DATABASE_URL",
    parse: databaseUrl,
    fallback: null as string | null,
    shownDefault: "embedded server",
    about: "Your own PostgreSQL (15 or newer). Its user owns the schema `emanet` and may create roles.",
    productionNeeds: "the embedded server has no replica and no backups of its own",
  },
  masterKey: {
    variable: "EMANET_MASTER_KEY",
    parse: base64Key,
    fallback: null as Buffer | null,
    shownDefault: "`<data>/master.key`, made on first start",
    about: "32 bytes, base64. Every sealed secret and signed cursor derives from it; every process needs the same.",
    productionNeeds: "a key beside the data it protects is no protection, and every process needs the same one",
  },
  smtpUrl: {
    variable: "EMANET_SMTP_URL",
    parse: urlOf("smtp:", "smtps:"),
    fallback: null as string | null,
    shownDefault: "files in `<data>/outbox/`",
    about: "Mail server, `smtps://user:password@host` or `smtp://…`; see [OPERATIONS](OPERATIONS.md#mail) for TLS.",
    productionNeeds: "mail must reach people",
  },
  mailFrom: {
    variable: "EMANET_MAIL_FROM",
    parse: sender,
    fallback: "Emanet <noreply@emanet.invalid>",
    shownDefault: "Emanet <noreply@emanet.invalid>",
    about: "Sender of every mail.",
    productionNeeds: "the default sender's domain does not exist",
  },
  staffEmail: {
    variable: "EMANET_STAFF_EMAIL",
    parse: mailAddress,
    fallback: "staff@emanet.invalid",
    shownDefault: "staff@emanet.invalid",
    about: "Where new applications are announced.",
    productionNeeds: "somebody must read about new applications",
  },
  smsUrl: {
    variable: "EMANET_SMS_URL",
    parse: urlOf("http:", "https:"),
    fallback: null as string | null,
    shownDefault: "files in `<data>/outbox/`",
    about:
      "SMS gateway, called once per message (https; http only to loopback); see [OPERATIONS](OPERATIONS.md#sms) for Netgsm and İleti Merkezi.",
    productionNeeds: "one-time codes must reach people",
  },
  smsBody: {
    variable: "EMANET_SMS_BODY",
    parse: notEmpty,
    fallback: '{"to":"{to}","text":"{text}"}',
    shownDefault: '`{"to":"{to}","text":"{text}"}`',
    about:
      "Body template of the gateway call; `{to}`, `{to_local}`, `{text}` and `{id}` are filled in, escaped for its type.",
  },
  smsContentType: {
    variable: "EMANET_SMS_CONTENT_TYPE",
    parse: notEmpty,
    fallback: "application/json",
    shownDefault: "application/json",
    about: "Content type of that body: JSON, `application/xml` or `application/x-www-form-urlencoded`.",
  },
  smsAuthorization: {
    variable: "EMANET_SMS_AUTHORIZATION",
    parse: notEmpty,
    fallback: null as string | null,
    shownDefault: "none",
    about: "`Authorization` header of the gateway call.",
  },
  smsSuccess: {
    variable: "EMANET_SMS_SUCCESS",
    parse: regularExpression,
    fallback: null as RegExp | null,
    shownDefault: "any 2xx",
    about: "Regular expression that a 2xx answer's body must match, for gateways that report errors with status 200.",
  },
  errorReportsDsn: {
    variable: "EMANET_ERROR_REPORTS_DSN",
    parse: reportsDsn,
    fallback: null as string | null,
    shownDefault: "none",
    about: "Sentry-compatible DSN (`https://<key>@<host>/<project number>`) for scrubbed error reports.",
  },
  logLevel: {
    variable: "EMANET_LOG_LEVEL",
    parse: oneOf(["debug", "info", "warn", "error", "silent"]),
    fallback: "info" as "debug" | "info" | "warn" | "error" | "silent",
    shownDefault: "info",
    about: "Least level that is logged (JSON lines on standard error).",
  },
  drainSeconds: {
    variable: "EMANET_DRAIN_SECONDS",
    parse: wholeNumber(0, 600),
    fallback: 25,
    shownDefault: "25",
    about: "How long a stop waits for requests and jobs in flight; below the usual 30 s before a supervisor kills.",
  },
  newMasterKey: {
    variable: "EMANET_NEW_MASTER_KEY",
    parse: base64Key,
    fallback: null as Buffer | null,
    shownDefault: "none",
    about: "The next master key, for `npm start -- rewrap` alone; see [OPERATIONS](OPERATIONS.md#master-key).",
  },
  plannedLimits: {
    variable: "EMANET_PLANNED_LIMITS",
    parse: oneOf(["off", "shadow", "enforce"]),
    fallback: "enforce" as "off" | "shadow" | "enforce",
    shownDefault: "enforce",
    about:
      "The planned limits (per package, and per hour or day of some operations): `enforce` refuses, `shadow` only counts what would be refused, `off` does neither. Accounts with early access are never refused by them.",
  },
  redisUrl: {
    variable: "EMANET_REDIS_URL",
    parse: urlOf("redis:", "rediss:"),
    fallback: null as string | null,
    shownDefault: "limits are counted in the process",
    about:
      "Valkey or Redis (7 or newer), e.g. `redis://127.0.0.1:6379/0`: makes limits exact over several processes. Needed as soon as there is more than one.",
  },
  limitLogin: limitSetting("login", "5/60"),
  limitLoginIp: limitSetting("login_ip", "60/60"),
  limitSmsMinute: limitSetting("sms_minute", "1/60"),
  limitSmsHour: limitSetting("sms_hour", "5/3600"),
  limitAdmin: limitSetting("admin", "60/60"),
  limitToken: limitSetting("token", "60/60"),
  limitSnapshotsList: limitSetting("snapshots_list", "60/60"),
  limitSnapshotsCreate: limitSetting("snapshots_create", "10/60"),
  limitSnapshotsCreateHour: limitSetting("snapshots_create_hour", "30/3600"),
  limitRestoreCreate: limitSetting("restore_create", "10/3600"),
  limitAuditExport: limitSetting("audit_export", "5/86400"),
  limitApplications: limitSetting("applications", "5/3600"),
  limitPackage: limitSetting(
    "package",
    "the package's",
    ", for every package (burst and the time in which it refills)",
  ),
  limitAnonymous: limitSetting("anonymous", "600/120", " (burst and the time in which it refills)"),
  limitSuspicious: {
    variable: "EMANET_LIMIT_SUSPICIOUS",
    parse: wholeNumber(1, 500_000),
    fallback: null as number | null,
    shownDefault: "1000",
    about: "How many different targets within 60 s set a ban (a count alone); only in profile `sandbox`.",
  },
  limitLockout: {
    variable: "EMANET_LIMIT_LOCKOUT",
    parse: rate,
    fallback: null as Rate | null,
    shownDefault: "10/900",
    about:
      "`count/seconds` of the lockout after failed sign-ins: failures in a row before it begins (ten times as many in a day), longest wait; only in profile `sandbox`.",
  },
} satisfies Record<string, Setting<unknown>>;

export interface Rate {
  readonly count: number;
  readonly seconds: number;
}

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

/** Parses and checks the environment; collects every finding before it gives up. */
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

/** Variables that look like ours and are not: most likely a typing mistake, so the start says so. */
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

/** A row that overrides a policy in the sandbox. */
function limitSetting(policy: string, shownDefault: string, more = ""): Setting<Rate | null> {
  return {
    variable: `EMANET_LIMIT_${policy.toUpperCase()}`,
    parse: rate,
    fallback: null,
    shownDefault,
    about: `\`count/seconds\` of the policy \`${policy}\`${more}; only in profile \`sandbox\`.`,
  };
}

function oneOf<const T extends string>(allowed: readonly T[]): (text: string) => T {
  return (text) => allowed.find((value) => value === text) ?? fail(`one of ${allowed.join(", ")}`);
}

function flag(text: string): boolean {
  return oneOf(["0", "1"])(text) === "1";
}

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    return /^\d+$/.test(text) && value >= least && value <= most ? value : fail(`a whole number, ${least} to ${most}`);
  };
}

function listenAddress(text: string): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]/\s]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host !== undefined && port <= 65_535 ? { host, port } : fail("host:port, e.g. 127.0.0.1:8443 or [::1]:8443");
}

function publicUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const bare = url?.protocol === "https:" && url.pathname === "/" && !url.search && !url.hash;
  const anonymous = url?.username === "" && url.password === "";
  return bare && anonymous ? url.origin : fail("an https URL without a path, e.g. https://api.example.com");
}

function urlOf(...protocols: readonly string[]): (text: string) => string {
  return (text) =>
    URL.canParse(text) && protocols.includes(new URL(text).protocol)
      ? text
      : fail(`a URL with ${protocols.join(" or ")}`);
}

/** Also `postgresql://user@/db?host=/socket`, as PostgreSQL itself writes it; a URL must have a host to be one. */
function databaseUrl(text: string): string {
  return urlOf("postgres:", "postgresql:")(text.replace("@/", "@localhost/"));
}

/** The form that collectors hand out; said here because a start is the moment to find out. */
function reportsDsn(text: string): string {
  const whole = /^https?:\/\/\w+@(?:\[[0-9a-fA-F:]+\]|[\w.-]+)(?::\d{1,5})?\/(?:[\w.-]+\/)*\d+$/.test(text);
  return whole ? text : fail("https://<key>@<host>/<project number>");
}

/** One plain address: nothing that would be a separator, a quote or a comment in a header. */
function mailAddress(text: string): string {
  const plain = /^[^\s<>()[\]\\,;:"@]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text);
  return plain && text.length <= maxMailAddressLength ? text : fail("one e-mail address");
}

/** RFC 5321: 254 octets. */
const maxMailAddressLength = 254;

function sender(text: string): string {
  try {
    mailAddress(/^[^<>]*<([^<>]+)>$/.exec(text.trim())?.[1] ?? text.trim());
    return text;
  } catch {
    return fail("an e-mail address, or Name <address>");
  }
}

function hostList(text: string): readonly string[] {
  const label = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?";
  const host = new RegExp(`^${label}(?:\\.${label})*$`);
  const isHost = (item: string) => ipaddr.isValid(item) || host.test(item);
  return nameList(text).map((item) => (isHost(item) ? item : fail("host names or addresses, comma-separated")));
}

function cidrList(text: string): readonly string[] {
  return nameList(text).map((item) =>
    ipaddr.isValidCIDR(item) ? item : fail("CIDRs like 10.0.0.0/8, comma-separated"),
  );
}

function nameList(text: string): readonly string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter(Boolean);
}

/** The engine's own message would quote the value. */
function regularExpression(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch {
    return fail("a regular expression");
  }
}

function filePath(text: string): string {
  return path.resolve(text);
}

function notEmpty(text: string): string {
  return text.trim() === "" ? fail("not blank") : text;
}

function base64Key(text: string): Buffer {
  const key = Buffer.from(text, "base64");
  return key.length === 32 && /^[A-Za-z0-9+/]{43}=$/.test(text)
    ? key
    : fail("32 bytes in base64 (`openssl rand -base64 32`)");
}

function rate(text: string): Rate {
  const match = /^([1-9]\d{0,8})\/([1-9]\d{0,7})$/.exec(text);
  return match ? { count: Number(match[1]), seconds: Number(match[2]) } : fail("count/seconds, e.g. 5/3600");
}

function fail(message: string): never {
  throw new Error(message);
}

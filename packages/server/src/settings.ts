/**
 * The table of settings. A *setting* is one row: its variable, how its text is parsed, its default, and what it is for. A
 * row can refuse its default in profile `production`, where a convenient default would be unsafe. `config.ts` reads them.
 */

import path from "node:path";
import {
  base64Key,
  cidrList,
  databaseUrl,
  filePath,
  flag,
  hostList,
  hostOrCidrList,
  listenAddress,
  mailAddress,
  nameServers,
  notEmpty,
  oneOf,
  publicUrl,
  type Rate,
  rate,
  regularExpression,
  reportsDsn,
  sender,
  storageAddress,
  urlOf,
  wholeNumber,
} from "./setting-parsers.ts";

export const profiles = ["local", "sandbox", "production"] as const;
export type Profile = (typeof profiles)[number];

export interface Setting<T> {
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

export const settings = {
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
    about: "CIDRs, comma-separated. `X-Forwarded-For` is used only from there.",
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
    productionNeeds: "the embedded server has no replica and no backups",
  },
  storage: {
    variable: "EMANET_STORAGE",
    parse: storageAddress,
    fallback: null as string | null,
    shownDefault: "`file:<data>/objects`",
    about:
      "Where vaults are stored: `file:/folder` or `s3://bucket/prefix?endpoint=…&region=…`; see [STORAGE](STORAGE.md). Every process needs the same.",
    productionNeeds: "the data folder belongs to one process, and every process needs the same store",
  },
  webhookAllow: {
    variable: "EMANET_WEBHOOK_ALLOW",
    parse: hostOrCidrList,
    fallback: [] as readonly string[],
    shownDefault: "none",
    about:
      "Host names or CIDRs, comma-separated, that webhooks may lead to although they are not public: receivers in your own network.",
  },
  webhookCaFile: {
    variable: "EMANET_WEBHOOK_CA_FILE",
    parse: filePath,
    fallback: null as string | null,
    shownDefault: "none",
    about: "PEM file with a further certificate authority for receivers of webhooks, beside the public ones.",
  },
  webhookDns: {
    variable: "EMANET_WEBHOOK_DNS",
    parse: nameServers,
    fallback: null as readonly string[] | null,
    shownDefault: "those of the system",
    about: "`address:port` of the name servers that are asked for receivers of webhooks, comma-separated.",
  },
  spoolDir: {
    variable: "EMANET_SPOOL_DIR",
    parse: (text) => path.resolve(text),
    fallback: null as string | null,
    shownDefault: "`<data>/spool`",
    about:
      "Folder for uploads while they are received, for this machine alone. It is scratch: each process empties its own part at the start.",
  },
  spoolGib: {
    variable: "EMANET_SPOOL_GIB",
    parse: wholeNumber(1, 100_000),
    fallback: 64,
    shownDefault: "64",
    about: "GiB that one process may have in the spool. Uploads beyond it are answered `storage_full`.",
  },
  spoolGibPerAccount: {
    variable: "EMANET_SPOOL_GIB_PER_ACCOUNT",
    parse: wholeNumber(1, 100_000),
    fallback: 32,
    shownDefault: "32",
    about: "GiB of the spool that one account may have at a time: also the largest upload in one call.",
  },
  masterKey: {
    variable: "EMANET_MASTER_KEY",
    parse: base64Key,
    fallback: null as Buffer | null,
    shownDefault: "`<data>/master.key`, made on first start",
    about:
      "32 bytes, base64. It opens every secret and every vault; **without it no backup can be read again**. Every process needs the same.",
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
    productionNeeds: "mails about new applications need a recipient",
  },
  auditTsaUrl: {
    variable: "EMANET_AUDIT_TSA_URL",
    parse: urlOf("http:", "https:"),
    fallback: null as string | null,
    shownDefault: "none",
    about:
      "Time-stamp authority (RFC 3161) that stamps every checkpoint of the audit trail; see [AUDIT](AUDIT.md#time-stamps). Its answers are signed, so http is enough.",
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
    about:
      "The next master key: for `npm start -- rewrap`, and for processes that start while the key is replaced; see [OPERATIONS](OPERATIONS.md#master-key).",
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
  limitSnapshotsVerify: limitSetting("snapshots_verify", "10/3600"),
  limitRestoreCreate: limitSetting("restore_create", "10/3600"),
  limitAuditExport: limitSetting("audit_export", "5/86400"),
  limitAuditSharedExport: limitSetting("audit_shared_export", "5/86400"),
  limitAuditSharedEvents: limitSetting("audit_shared_events", "60/60"),
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

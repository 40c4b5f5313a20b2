import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { ConfigError, readConfig, settingReference, unknownSettings } from "./config.ts";

type Environment = Readonly<Record<string, string>>;

/** Every finding about an environment; empty when it can be used. */
function problemsOf(environment: Environment): readonly string[] {
  try {
    readConfig(environment);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
}

/** What an operator of a production system sets. */
const production: Environment = {
  EMANET_PROFILE: "production",
  EMANET_LISTEN: "0.0.0.0:443",
  EMANET_PUBLIC_URL: "https://api.ornek.example",
  EMANET_TLS_CERT: "/etc/emanet/tls.pem",
  EMANET_TLS_KEY: "/etc/emanet/tls.key",
  EMANET_DATABASE_URL: "postgresql://emanet@db.ornek.example/emanet",
  EMANET_STORAGE: "s3://ornek-yedek?region=tr-1",
  EMANET_MASTER_KEY: Buffer.alloc(32, 1).toString("base64"),
  EMANET_SMTP_URL: "smtps://mail.ornek.example",
  EMANET_MAIL_FROM: "Emanet <noreply@ornek.example>",
  EMANET_STAFF_EMAIL: "staff@ornek.example",
  EMANET_SMS_URL: "https://sms.ornek.example/send",
};

/** Values that each setting must refuse. Settings that are free text or a path have none but blank ones. */
const bad: Readonly<Record<string, readonly string[]>> = {
  EMANET_PROFILE: ["prod", "LOCAL", " local"],
  EMANET_DATA_DIR: [],
  EMANET_LISTEN: ["8443", "127.0.0.1", "127.0.0.1:70000", "::1:8443", "http://127.0.0.1:1", "127.0.0.1:-1", ":8443"],
  EMANET_METRICS_LISTEN: ["9090", "localhost", "127.0.0.1:99999"],
  EMANET_ALLOW_REMOTE: ["true", "yes", "2"],
  EMANET_PUBLIC_URL: [
    "api.ornek.example",
    "http://api.ornek.example",
    "https://api.ornek.example/v1",
    "https://user@api.ornek.example",
    "https://:secret@api.ornek.example",
    "https://api.ornek.example/?x=1",
  ],
  EMANET_TRUSTED_PROXIES: ["10.0.0.1", "10.0.0.0/33", "proxy.local/8", "10.0.0.0/8,nonsense"],
  EMANET_BEHIND_TLS_PROXY: ["on"],
  EMANET_TLS_CERT: [],
  EMANET_TLS_KEY: [],
  EMANET_TLS_NAMES: ["https://name.example", "a b.example", "name.example:8443"],
  EMANET_DATABASE_URL: ["mysql://x/y", "localhost/emanet", "postgresql"],
  EMANET_STORAGE: ["/var/lib/emanet", "file:", "s3:bucket", "https://s3.ornek.example/bucket", "memory:x"],
  EMANET_WEBHOOK_ALLOW: ["https://erp.ofis.local", "10.0.0.0/33", "erp.ofis.local:8443", "a b"],
  EMANET_WEBHOOK_CA_FILE: [],
  EMANET_WEBHOOK_DNS: ["127.0.0.1", "ns.ofis.local:53", "127.0.0.1:0", "127.0.0.1:99999"],
  EMANET_SPOOL_DIR: [],
  EMANET_SPOOL_GIB: ["0", "100001", "1.5", "many"],
  EMANET_SPOOL_GIB_PER_ACCOUNT: ["0", "100001", "-1"],
  EMANET_MASTER_KEY: ["secret", "A".repeat(44), Buffer.alloc(31).toString("base64"), Buffer.alloc(32).toString("hex")],
  EMANET_SMTP_URL: ["mail.ornek.example", "https://mail.ornek.example"],
  EMANET_MAIL_FROM: ["   ", "Emanet", "noreply@", "Emanet <noreply>"],
  EMANET_STAFF_EMAIL: ["   ", "staff", "a@b@c.example", `${"x".repeat(250)}@ornek.example`, "a@x.example,b@x.example"],
  EMANET_AUDIT_TSA_URL: ["tsa.ornek.example", "ftp://tsa.ornek.example"],
  EMANET_SMS_URL: ["sms.ornek.example", "ftp://sms.ornek.example"],
  EMANET_SMS_BODY: ["  "],
  EMANET_SMS_CONTENT_TYPE: ["  "],
  EMANET_SMS_AUTHORIZATION: ["  "],
  EMANET_SMS_SUCCESS: ["(", "[a"],
  EMANET_ERROR_REPORTS_DSN: [
    "sentry.example",
    "https://sentry.example/1",
    "https://key@sentry.example/",
    "ftp://k@x/1",
  ],
  EMANET_LOG_LEVEL: ["trace", "INFO"],
  EMANET_DRAIN_SECONDS: ["-1", "601", "2.5", "1e2", "ten"],
  EMANET_NEW_MASTER_KEY: ["secret", Buffer.alloc(31).toString("base64")],
  EMANET_PLANNED_LIMITS: ["on", "Enforce"],
  EMANET_REDIS_URL: ["127.0.0.1:6379", "http://127.0.0.1:6379"],
  EMANET_LIMIT_LOGIN: ["5"],
  EMANET_LIMIT_LOGIN_IP: ["0/60"],
  EMANET_LIMIT_SMS_MINUTE: ["1/0"],
  EMANET_LIMIT_SMS_HOUR: ["five/3600"],
  EMANET_LIMIT_ADMIN: ["60 per minute"],
  EMANET_LIMIT_TOKEN: ["60"],
  EMANET_LIMIT_SNAPSHOTS_LIST: ["60"],
  EMANET_LIMIT_SNAPSHOTS_CREATE: ["10"],
  EMANET_LIMIT_SNAPSHOTS_CREATE_HOUR: ["30"],
  EMANET_LIMIT_SNAPSHOTS_VERIFY: ["10"],
  EMANET_LIMIT_RESTORE_CREATE: ["10"],
  EMANET_LIMIT_AUDIT_EXPORT: ["5"],
  EMANET_LIMIT_AUDIT_SHARED_EXPORT: ["5"],
  EMANET_LIMIT_AUDIT_SHARED_EVENTS: ["60"],
  EMANET_LIMIT_APPLICATIONS: ["5", "0/60", "5/0", "5 / 60", "-5/60", "1e3/60"],
  EMANET_LIMIT_PACKAGE: ["starter"],
  EMANET_LIMIT_ANONYMOUS: ["many", "600/"],
  EMANET_LIMIT_SUSPICIOUS: ["0", "1000/60", "500001"],
  EMANET_LIMIT_LOCKOUT: ["10"],
};

describe("values", () => {
  test("every setting is listed here with its bad values", () => {
    assert.deepEqual(
      Object.keys(bad),
      settingReference().map((row) => row.variable),
    );
  });

  for (const [variable, values] of Object.entries(bad)) {
    test(`${variable}: every bad value is refused by name of the variable, in words that do not depend on the value`, () => {
      const sentences = values.map((value) => {
        const problems = problemsOf({ EMANET_PROFILE: "sandbox", [variable]: value });
        assert.equal(problems.length, 1, JSON.stringify({ value, problems }));
        return problems[0] ?? "";
      });
      for (const sentence of sentences) assert.match(sentence, new RegExp(`^${variable} must be [^\\n]+`));
      assert.ok(new Set(sentences).size <= 1);
    });
  }

  test("one message names all bad values, so that one start is enough to correct them", () => {
    const worst = Object.entries(bad).filter(([, values]) => values.length > 0);
    const environment = Object.fromEntries(worst.map(([variable, [value = ""]]) => [variable, value]));
    const problems = problemsOf(environment);
    for (const [variable] of worst) assert.ok(problems.some((problem) => problem.startsWith(`${variable} must be`)));
  });

  test("an empty variable is an unset one, and nothing at all is a usable configuration", () => {
    const unset = readConfig({});
    const empty = readConfig(Object.fromEntries(Object.keys(bad).map((variable) => [variable, ""])));
    assert.deepEqual(empty, unset);
    assert.equal(unset.profile, "local");
    assert.deepEqual(unset.listen, { host: "127.0.0.1", port: 8443 });
  });

  test("good values are read for what they are", () => {
    const config = readConfig({
      EMANET_PROFILE: "sandbox",
      EMANET_LISTEN: "[::1]:0",
      EMANET_PUBLIC_URL: "https://API.ornek.example:8443/",
      EMANET_TRUSTED_PROXIES: "10.0.0.0/8, fd00::/8",
      EMANET_TLS_NAMES: "emanet.local, 10.1.2.3, ::1",
      EMANET_DATABASE_URL: "postgresql://emanet@/emanet?host=/run/postgresql",
      EMANET_LIMIT_APPLICATIONS: "7/60",
      EMANET_SMS_SUCCESS: "^00",
      EMANET_DRAIN_SECONDS: "0",
      EMANET_ERROR_REPORTS_DSN: "https://abc123@sentry.example/path/42",
    });
    assert.deepEqual(config.listen, { host: "::1", port: 0 });
    assert.equal(config.publicUrl, "https://api.ornek.example:8443");
    assert.deepEqual(config.trustedProxies, ["10.0.0.0/8", "fd00::/8"]);
    assert.deepEqual(config.tlsNames, ["emanet.local", "10.1.2.3", "::1"]);
    assert.deepEqual(config.limitApplications, { count: 7, seconds: 60 });
    assert.ok(config.smsSuccess?.test("00 OK"));
    assert.equal(config.drainSeconds, 0);
  });

  test("a configuration cannot be changed", () => {
    assert.throws(() => Object.assign(readConfig({}), { profile: "production" }), TypeError);
  });
});

describe("contradictions", () => {
  test("a certificate without its key, and a key without its certificate", () => {
    for (const variable of ["EMANET_TLS_CERT", "EMANET_TLS_KEY"]) {
      assert.match(problemsOf({ [variable]: "/x.pem" }).join(), /set together/);
    }
  });

  test("behind a proxy that is not named every client would look like the proxy", () => {
    assert.match(problemsOf({ EMANET_BEHIND_TLS_PROXY: "1" }).join(), /EMANET_TRUSTED_PROXIES/);
    assert.deepEqual(problemsOf({ EMANET_BEHIND_TLS_PROXY: "1", EMANET_TRUSTED_PROXIES: "10.0.0.0/8" }), []);
  });

  test("a store that ends with the process is for profile sandbox only", () => {
    assert.match(problemsOf({ EMANET_STORAGE: "memory:" }).join(), /^EMANET_STORAGE .*sandbox/);
    assert.deepEqual(problemsOf({ EMANET_PROFILE: "sandbox", EMANET_STORAGE: "memory:" }), []);
  });

  test("limits may be moved in profile sandbox only", () => {
    for (const variable of ["EMANET_LIMIT_APPLICATIONS", "EMANET_LIMIT_ANONYMOUS"]) {
      assert.match(problemsOf({ [variable]: "5/60" }).join(), /sandbox/);
      assert.match(problemsOf({ ...production, [variable]: "5/60" }).join(), /sandbox/);
      assert.deepEqual(problemsOf({ EMANET_PROFILE: "sandbox", [variable]: "5/60" }), []);
    }
  });

  test("local and sandbox bind loopback only, the metrics too, unless remote access is allowed", () => {
    const remote = ["0.0.0.0:1", "[::]:1", "192.0.2.1:1", "ornek.example:1", "[2001:db8::1]:1"];
    for (const [variable, values] of [
      ["EMANET_LISTEN", remote],
      ["EMANET_METRICS_LISTEN", remote],
    ] as const) {
      for (const value of values) {
        for (const profile of ["local", "sandbox"]) {
          const environment = { EMANET_PROFILE: profile, [variable]: value };
          const problems = problemsOf(environment);
          assert.equal(problems.length, 1, `${variable}=${value}`);
          assert.match(problems[0] ?? "", new RegExp(`^${variable} .*EMANET_ALLOW_REMOTE`));
          assert.deepEqual(problemsOf({ ...environment, EMANET_ALLOW_REMOTE: "1" }), []);
        }
      }
    }
    for (const value of ["localhost:1", "127.0.0.1:1", "127.9.9.9:1", "[::1]:1"]) {
      assert.deepEqual(problemsOf({ EMANET_LISTEN: value, EMANET_METRICS_LISTEN: value }), []);
    }
    assert.deepEqual(problemsOf(production), []);
  });
});

describe("production", () => {
  const needed = settingReference().filter((row) => row.production !== "");

  test("refuses its unsafe defaults, all of them in one list with the reason", () => {
    const problems = problemsOf({ EMANET_PROFILE: "production" });
    for (const { variable, production: reason } of needed) {
      assert.ok(problems.includes(`${variable} must be set in production: ${reason}`), variable);
    }
    assert.ok(problems.some((problem) => problem.includes("EMANET_TLS_CERT")));
    assert.equal(problems.length, needed.length + 1);
    assert.ok(needed.length >= 7);
  });

  test("each of them alone is enough to refuse, also when the default is written out", () => {
    for (const { variable } of needed) {
      const { [variable]: _unset, ...rest } = production;
      assert.match(problemsOf(rest).join(), new RegExp(`^${variable} must be set in production`), variable);
    }
    const written = { ...production, EMANET_STAFF_EMAIL: "staff@emanet.invalid" };
    assert.match(problemsOf(written).join(), /EMANET_STAFF_EMAIL/);
  });

  test("takes a TLS proxy in place of a certificate", () => {
    const { EMANET_TLS_CERT: _cert, EMANET_TLS_KEY: _key, ...rest } = production;
    assert.equal(problemsOf(rest).length, 1);
    const proxied = { ...rest, EMANET_BEHIND_TLS_PROXY: "1", EMANET_TRUSTED_PROXIES: "10.0.0.0/8" };
    assert.deepEqual(problemsOf(proxied), []);
  });
});

test("a variable that looks like ours and is not is reported; those of the clients are not", () => {
  const environment = { EMANET_LISTN: "x", EMANET_URL: "x", EMANET_CA_FILE: "x", PATH: "x", EMANET_LISTEN: "x" };
  assert.deepEqual(unknownSettings(environment), ["EMANET_LISTN"]);
});

test("docs/SETTINGS.md has every setting, with its default and what production needs", async () => {
  const page = await readFile(path.join(import.meta.dirname, "../../../docs/SETTINGS.md"), "utf8");
  for (const row of settingReference()) {
    const line = page.split("\n").find((text) => text.startsWith(`| \`${row.variable}\` |`));
    for (const part of [row.default, row.about, row.production]) assert.ok(line?.includes(part), row.variable);
  }
});

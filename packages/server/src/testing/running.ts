/**
 * The real service for a test: its own database (a copy of the migrated template), its own data folder, a free port, TLS
 * with its own authority. {@link TestService.send} checks every answer against the document.
 */

import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import { readConfig } from "../config.ts";
import { declared, policies } from "../declarations.ts";
import { endpoints, events, tags } from "../endpoints.ts";
import { type FirstPasswords, newFirstPasswords } from "../first-run/index.ts";
import type { Services } from "../kernel/domain-services.ts";
import type { Endpoint } from "../kernel/http/endpoint.ts";
import { openapiDocument } from "../kernel/http/openapi.ts";
import type { AccessTokens, Authenticator, OauthScope, Principal } from "../kernel/principal.ts";
import { type Running, start } from "../start.ts";
import { inReverse } from "./cleanup.ts";
import { type TestClock, testClock } from "./clock.ts";
import { type Cleanup, type TestDatabase, testDatabase } from "./database.ts";
import { type DocumentCheck, documentCheck } from "./document-check.ts";
import { keptConnections, sendHttp1, sendHttp2, type TestAnswer, type TestRequest } from "./https.ts";

export interface TestServiceOptions {
  /** Endpoints that only this test has. */
  readonly extra?: readonly Endpoint[];
  readonly settings?: Readonly<Record<string, string>>;
  /** Continue with what another test service left, e.g. after a restart. */
  readonly database?: TestDatabase;
  readonly dataDir?: string;
  readonly clock?: TestClock;
  /** In place of the one that reads {@link testToken}. */
  readonly authenticator?: Authenticator;
  /** False for a new connection per HTTP/1.1 request: three quarters of the CPU time of a short one. */
  readonly keepsConnections?: boolean;
  /** Replaces some of the services. */
  readonly services?: (real: Services) => Services;
}

export interface TestCall extends TestRequest {
  readonly json?: unknown;
  readonly http2?: boolean;
}

export interface Sent extends TestAnswer {
  /** The body as JSON; undefined when it is empty. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
}

export interface TestService {
  readonly url: string;
  readonly ca: string;
  readonly dataDir: string;
  readonly database: TestDatabase;
  readonly clock: TestClock;
  readonly running: Running;
  /** The service's own, for tokens of people who never signed in. */
  readonly tokens: AccessTokens;
  /** Every line that was logged. */
  readonly logLines: readonly string[];
  send(method: string, path: string, call?: TestCall): Promise<Sent>;
}

/** Longer than the default of the service: twenty requests behind one lock take that long on a machine with no CPU left. */
const databaseWaitMs = 25_000;

export async function startTestService(outerCleanup: Cleanup, options: TestServiceOptions = {}): Promise<TestService> {
  const cleanup = inReverse(outerCleanup);
  const database = options.database ?? (await testDatabase(cleanup));
  const isSandbox = options.settings?.EMANET_PROFILE === undefined;
  const dataDir = options.dataDir ?? (await newDataFolder(cleanup, isSandbox));
  const clock = options.clock ?? testClock();
  const logLines: string[] = [];
  const all = [...endpoints, ...(options.extra ?? [])];
  const running = await start({
    config: readConfig({
      EMANET_PROFILE: "sandbox",
      EMANET_DATA_DIR: dataDir,
      EMANET_LISTEN: "127.0.0.1:0",
      EMANET_LOG_LEVEL: "debug",
      EMANET_LIMIT_ANONYMOUS: "100000/60",
      // Nobody answers there: tests ask no server of names outside.
      EMANET_WEBHOOK_DNS: "127.0.0.1:1",
      ...options.settings,
    }),
    role: "all",
    clock,
    database: database.target,
    databaseWaitMs,
    endpoints: all,
    firstPasswords: (random) => (firstPasswords ??= newFirstPasswords(random)),
    authenticator: (real) => options.authenticator ?? withTestTokens(real),
    ...(options.services && { services: options.services }),
    writeLog: (line) => logLines.push(line),
  });
  cleanup.after(() => running.stop());
  const url = running.url ?? "";
  const ca = running.caFile === null ? "" : await readFile(running.caFile, "utf8");
  if (isSandbox && running.caFile !== null) certificates ??= await readCertificates(dataDir);
  const agent = (options.keepsConnections ?? true) ? keptConnections(ca) : null;
  cleanup.after(async () => agent?.destroy());
  const check = checkOf(all);
  return {
    url,
    ca,
    dataDir,
    database,
    clock,
    running,
    tokens: running.tokens,
    logLines,
    async send(method, target, { json, http2, ...call } = {}) {
      const jsonCall = json === undefined ? {} : { body: JSON.stringify(json) };
      const headers = { ...(json === undefined ? {} : { "content-type": "application/json" }), ...call.headers };
      const request = { ...call, ...jsonCall, method, headers };
      const to = `${url}${target}`;
      const answer = decoded(await (http2 ? sendHttp2(to, ca, request) : sendHttp1(to, ca, request, agent ?? false)));
      check(method, target, answer);
      return { ...answer, json: parse(answer) };
    },
  };
}

/** Principals of test tokens have no session, and nothing takes their rights. */
function withTestTokens(real: Authenticator): Authenticator {
  const made = new WeakSet<Principal>();
  return {
    async authenticate(token) {
      const principal = readTestToken(token);
      if (principal === null) return real.authenticate(token);
      made.add(principal);
      return principal;
    },
    again: async (principal) => (made.has(principal) ? principal : real.again(principal)),
    ofSession: (session) => real.ofSession(session),
  };
}

/** Passwords of the first service of this process for the others: hashing them is half of a start. */
let firstPasswords: Promise<FirstPasswords> | null = null;

/** Files of the first service of this process for the others: making authority and certificate is a fifth of a start. */
let certificates: ReadonlyMap<string, Buffer> | null = null;

/** With the label of the folder: a service refuses a folder that has files and no label. */
const certificateFiles = ["folder.json", "tls/ca.key", "tls/ca.pem", "tls/server.key", "tls/server.pem"];

async function readCertificates(dataDir: string): Promise<ReadonlyMap<string, Buffer>> {
  const files = certificateFiles.map(async (name) => [name, await readFile(path.join(dataDir, name))] as const);
  return new Map(await Promise.all(files));
}

async function newDataFolder(cleanup: Cleanup, isSandbox: boolean): Promise<string> {
  const folder = await temporaryFolder(cleanup);
  if (certificates === null || !isSandbox) return folder;
  await mkdir(path.join(folder, "tls"), { mode: 0o700 });
  for (const [name, bytes] of certificates) await writeFile(path.join(folder, name), bytes, { mode: 0o600 });
  return folder;
}

/** The check for the service's own endpoints: a process tests many services, and compiling its schemas takes long. */
let ownCheck: DocumentCheck | null = null;

function checkOf(all: readonly Endpoint[]): DocumentCheck {
  const isOwn = all.length === endpoints.length;
  if (isOwn && ownCheck !== null) return ownCheck;
  const aliases = Object.fromEntries(all.flatMap(({ spec }) => (spec.aliases ?? []).map((path) => [path, spec.path])));
  const sources = { endpoints: all, events, tags, version: "0.0.0", declared };
  const check = documentCheck(openapiDocument(sources, { complete: true }), aliases);
  if (isOwn) ownCheck = check;
  return check;
}

const decoders: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  gzip: gunzipSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
};

/** The answer with its body as it was before it was compressed. */
function decoded(answer: TestAnswer): TestAnswer {
  const decode = decoders[answer.headers["content-encoding"] ?? ""];
  return decode === undefined || answer.body.length === 0 ? answer : { ...answer, body: decode(answer.body) };
}

async function temporaryFolder(cleanup: Cleanup): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "emanet-test-"));
  cleanup.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function parse({ status, headers, body }: TestAnswer): Sent["json"] {
  // A part of a document is no document.
  const isJson = /\bjson/.test(headers["content-type"] ?? "") && status !== 206;
  return isJson && body.length > 0 ? (JSON.parse(body.toString()) as Sent["json"]) : undefined;
}

/** A token that contains its principal: tests of the kernel need principals, not sign-in. */
export function testToken(accountId: string, clientId: string, scopes: readonly OauthScope[]): string {
  return Buffer.from(JSON.stringify({ accountId, clientId, scopes })).toString("base64url");
}

/** Null for tokens that the service issued itself. */
function readTestToken(token: string): Extract<Principal, { kind: "client" }> | null {
  // The service's own have dots. To find out by an error in parsing would take a hundredth of a test's CPU time.
  if (token.includes(".")) return null;
  try {
    const { accountId, clientId, scopes } = JSON.parse(Buffer.from(token, "base64url").toString());
    const account = { state: "active", package: "corporate", apiPackage: "accountant", earlyAccess: false } as const;
    return {
      kind: "client",
      accountId,
      clientId,
      memberId: null,
      roles: ["owner"],
      scopes: new Set(scopes as OauthScope[]),
      sessionId: clientId,
      tokenKind: "api",
      vaultIds: null,
      account: { ...account, entitlements: new Set(["api"]), limits: { package: policies.package.rate, custom: {} } },
    };
  } catch {
    return null;
  }
}

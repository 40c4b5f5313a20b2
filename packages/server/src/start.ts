/**
 * Starts and stops the parts of the service. The first part that starts is the last that stops: the lock of the data folder
 * is released after the database has stopped, and the database stops after all its users.
 *
 * In the profiles `local` and `sandbox` every role runs the migrations; in `production` only the role `migrate` does.
 */

import type { Config } from "./config.ts";
import { endpoints } from "./endpoints.ts";
import { type FirstPasswords, firstRunFile, prepareFirstRun, writeFirstRunFile } from "./first-run/index.ts";
import type { Foundation, Place } from "./foundation.ts";
import { createAuthenticator, createSubjectCache, createTokens } from "./identity/index.ts";
import { type Clock, type Random, systemClock, systemRandom } from "./kernel/clock.ts";
import { type DataFolder, openDataFolder } from "./kernel/data-folder.ts";
import { listenForChanges } from "./kernel/database/change-notices.ts";
import { migrate, pendingMigrations } from "./kernel/database/migrate.ts";
import { openPools, type Pools } from "./kernel/database/pool.ts";
import type { DatabaseTarget } from "./kernel/database/target.ts";
import type { Services } from "./kernel/domain-services.ts";
import { createErrorReports } from "./kernel/error-reports.ts";
import { countBuffersAsHeap, keepBufferPoolsSmall, keepRequestsYoung } from "./kernel/heap.ts";
import { clientAddresses } from "./kernel/http/client-address.ts";
import type { Endpoint } from "./kernel/http/endpoint.ts";
import { countJobs, Worker } from "./kernel/jobs/index.ts";
import type { Limiter } from "./kernel/limits/limiter.ts";
import { createLog, type Log, standardErrorWriter } from "./kernel/log.ts";
import { createMetrics, startMetricsListener } from "./kernel/metrics.ts";
import { startEmbeddedPostgres } from "./kernel/postgres/embedded.ts";
import type { AccessTokens, Authenticator } from "./kernel/principal.ts";
import { createSecrets, type Secrets } from "./kernel/secrets.ts";
import { StartError } from "./kernel/start-error.ts";
import { createTransactions } from "./kernel/tx.ts";
import { createSigningKeys } from "./keys/index.ts";
import { listen, originOf } from "./listen.ts";
import { createMessagePorts } from "./messages/index.ts";
import { openServiceKeys } from "./open-root-key.ts";
import { openServices } from "./open-services.ts";
import { storageOf } from "./open-storage.ts";
import type { Role } from "./roles.ts";
import { createSandboxClock } from "./sandbox/index.ts";
import { tasks } from "./tasks.ts";
import { version } from "./version.ts";

export interface StartOptions {
  readonly config: Config;
  readonly role: Role;
  /** The others have defaults; tests replace them. */
  readonly clock?: Clock;
  readonly random?: Random;
  /** An authenticator that is tried before the service's own. */
  readonly authenticator?: (real: Authenticator) => Authenticator;
  /** Replaces the service's limiter, to measure its cost. */
  readonly limiter?: (real: Limiter) => Limiter;
  /** Replaces some of the services. The service's own are closed by `stop`, others by who made them. */
  readonly services?: (real: Services) => Services;
  readonly endpoints?: readonly Endpoint[];
  /** In place of new ones, whose hashes take half of the CPU time of a start. */
  readonly firstPasswords?: (random: Random) => Promise<FirstPasswords>;
  readonly database?: DatabaseTarget;
  /** How long requests and jobs wait for a connection or a lock. */
  readonly databaseWaitMs?: number;
  readonly writeLog?: (line: string) => void;
}

export interface Running {
  /** The URL of the service; null in a role that answers no requests. */
  readonly url: string | null;
  /** The file that clients of the local certificate authority trust. */
  readonly caFile: string | null;
  /** Null in role `migrate`, which ends at once. */
  readonly metricsUrl: string | null;
  /** The path of `first-run.json`; null in profile `production`. */
  readonly firstRunFile: string | null;
  /** The service's own, for tests and tools in this process. */
  readonly tokens: AccessTokens;
  readonly secrets: Secrets;
  /** At the first start: what losing the master key means. */
  readonly masterKeyWarning: string | null;
  /** Null in role `migrate`. */
  readonly services: Services | null;
  /** Reloads the certificate. */
  reload(): Promise<void>;
  /** Settles when a part that the service needs has ended unexpectedly. */
  readonly lost: Promise<Error>;
  /** Waits for running requests and jobs, at most the drain time, and stops. Can be called twice. */
  stop(): Promise<void>;
}

/** Starts the service. Rejects with a {@link StartError} or a ConfigError whose message says what to do. */
export async function start(options: StartOptions): Promise<Running> {
  keepRequestsYoung();
  countBuffersAsHeap();
  keepBufferPoolsSmall();
  const stack = new AsyncDisposableStack();
  const lost = Promise.withResolvers<Error>();
  try {
    const foundation = await openFoundation(options, stack, lost.resolve);
    const { config, place } = foundation;
    const services = options.role === "migrate" ? null : await openServices(foundation).then(options.services);
    const hasFirstRun = config.profile !== "production" && options.role !== "migrate";
    const firstRun = hasFirstRun ? await prepareFirstRun(foundation, options.firstPasswords) : null;
    // Before anything is read that is kept in memory.
    if (services !== null) await followChanges(foundation);
    if (services !== null && options.role !== "api") await runJobs(foundation, services);
    if (services !== null && options.role !== "api") services.webhooks.startDelivering();
    const metricsUrl = options.role === "migrate" ? null : await startMetrics(foundation);
    const listener = services !== null && options.role !== "worker" ? await listen(foundation, services) : null;
    if (listener !== null && firstRun !== null) {
      await writeFirstRunFile(foundation.folder, { baseUrl: place.boundUrl, caFile: listener.caFile, firstRun });
    }
    // Requests that wait for events or orders end first, so that the drain does not wait for them.
    if (services !== null)
      foundation.onStop(async () => {
        services.webhooks.waits.close();
        services.orders.waits.close();
      });
    place.open();
    return {
      url: listener?.url ?? null,
      caFile: listener?.caFile ?? null,
      metricsUrl,
      firstRunFile: listener !== null && firstRun !== null ? firstRunFile(foundation.folder) : null,
      tokens: foundation.tokens,
      secrets: foundation.secrets,
      masterKeyWarning: foundation.masterKeyWarning,
      services,
      reload: async () => listener?.reload(),
      lost: lost.promise,
      stop: () => stack.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

async function followChanges({ pools, transactions, log, onStop }: Foundation): Promise<void> {
  const changes = await listenForChanges({
    target: pools.target,
    log,
    onNotice: (notice) => transactions.announce(notice),
    onMissed: () => transactions.announce(),
  });
  onStop(() => changes.close());
}

/** The parts of a service without its listener and its jobs, for single commands. */
export async function withFoundation<T>(options: StartOptions, work: (parts: Foundation) => Promise<T>): Promise<T> {
  const stack = new AsyncDisposableStack();
  try {
    return await work(await openFoundation(options, stack, () => undefined));
  } finally {
    await stack.disposeAsync();
  }
}

async function startMetrics({ config, metrics, log, onStop }: Foundation): Promise<string> {
  const listener = await startMetricsListener({ listen: config.metricsListen, registry: metrics.registry, log });
  onStop(() => listener.close());
  return `${originOf("http", listener.address.host, listener.address.port)}/metrics`;
}

async function openFoundation(
  options: StartOptions,
  stack: AsyncDisposableStack,
  lost: (error: Error) => void,
): Promise<Foundation> {
  const { config } = options;
  const wallClock = options.clock ?? systemClock;
  const random = options.random ?? systemRandom;
  const metrics = createMetrics({ version, role: options.role });
  const log = createLog({
    level: config.logLevel,
    clock: wallClock,
    write: options.writeLog ?? standardErrorWriter(),
    onDropped: (count) => metrics.logFieldsDropped(count),
  });
  const folder = await openDataFolder({ folder: config.dataDir, profile: config.profile, log });
  stack.defer(() => folder.close());
  const target = options.database ?? (await databaseTarget(config, folder, log, stack, lost));
  const pools = await openPools({ target, log, ...(options.databaseWaitMs && { waitMs: options.databaseWaitMs }) });
  stack.defer(() => pools.close());
  await migrateOrRefuse(config, options.role, pools, log);
  const storage = storageOf(config, folder, { random });
  stack.defer(() => storage.close());
  const keys = await openServiceKeys({ config, folder, pools, storage, clock: wallClock, random, log });
  const secrets = createSecrets(keys.rootKey, random);
  const clock = config.profile === "sandbox" ? await createSandboxClock(wallClock, pools.app, log) : wallClock;
  const { errorReportsDsn: dsn, profile } = config;
  const reports = await usable(() => createErrorReports({ dsn, release: version, profile, clock, random, log }));
  stack.defer(() => reports.flush(reportFlushMs));
  const transactions = createTransactions(pools.app, clock, random, log, secrets);
  for (const name of ["app", "owner"] as const) {
    const pool = pools[name];
    metrics.watchPool(name, () => ({
      ...{ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount },
      backgroundWaiting: name === "app" ? transactions.backgroundWaiting() : 0,
    }));
  }
  const place = placeOf(config);
  const addresses = clientAddresses(config.trustedProxies);
  const signingKeys = createSigningKeys({ transactions, secrets, clock, random });
  const tokens = createTokens({ keys: signingKeys, clock, random, publicUrl: () => place.publicUrl() });
  const subjects = createSubjectCache(pools.app, transactions);
  const authenticator = createAuthenticator({ tokens, subjects, clock, log });
  return {
    config,
    clock,
    random,
    log,
    folder,
    pools,
    metrics,
    reports,
    secrets,
    storage,
    rootKeyCopy: keys.copy,
    masterKeyWarning: keys.warning,
    transactions,
    addresses,
    // Also in roles that send no messages: wrong settings must fail the start, not the first message.
    messages: await usable(() => createMessagePorts(config, { clock })),
    authenticator: options.authenticator?.(authenticator) ?? authenticator,
    tokens,
    limiter: options.limiter ?? ((real) => real),
    place,
    endpoints: options.endpoints ?? endpoints,
    onStop: (undo) => stack.defer(async () => void (await undo())),
  };
}

function placeOf(config: Config): Place {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const place: Place = { boundUrl: "", publicUrl: () => config.publicUrl ?? place.boundUrl, opened, open };
  return place;
}

/** A part reports a wrong setting by a TypeError that names the setting and never its value. */
async function usable<T>(make: () => T | Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new StartError("setting_unusable", `A setting cannot be used: ${error.message}.`, { cause: error });
  }
}

/** The stop waits this long for error reports to be sent. */
const reportFlushMs = 2_000;

async function databaseTarget(
  config: Config,
  folder: DataFolder,
  log: Log,
  stack: AsyncDisposableStack,
  lost: (error: Error) => void,
): Promise<DatabaseTarget> {
  if (config.databaseUrl !== null) return { kind: "url", url: config.databaseUrl };
  const postgres = await startEmbeddedPostgres({ folder: folder.root, log });
  stack.defer(() => postgres.stop());
  void postgres.lost.then(lost);
  return postgres.connection;
}

async function migrateOrRefuse(config: Config, role: Role, pools: Pools, log: Log): Promise<void> {
  const { owner } = pools;
  if (config.profile !== "production" || role === "migrate") {
    await migrate({ owner, log });
    return;
  }
  const pending = await pendingMigrations({ owner });
  if (pending.length === 0) return;
  throw new StartError(
    "database_outdated",
    `The database lacks ${pending.length} migration(s), the first being ${pending[0]}. Run "npm start migrate" with the same settings first.`,
  );
}

async function runJobs(foundation: Foundation, services: Services): Promise<void> {
  const { config, pools, clock, random, log, metrics, messages, transactions, secrets, place, onStop } = foundation;
  const { staffEmail } = config;
  const ports = {
    ...messages,
    transactions,
    secrets,
    services,
    random,
    staffEmail,
    publicUrl: () => place.publicUrl(),
  };
  metrics.watchJobs(() => countJobs(pools.owner, clock.now()));
  const worker = await Worker.start({
    ownerPool: pools.owner,
    tasks,
    ports,
    secrets,
    clock,
    random,
    log,
    onReport: (report) => metrics.jobFinished(report),
  });
  onStop(() => worker.drain(config.drainSeconds * 1000));
}

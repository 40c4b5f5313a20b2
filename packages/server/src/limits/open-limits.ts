/** Puts the limits of a service together: counters, bans and the detection of scans. */

import ipaddr from "ipaddr.js";
import type { Config } from "../config.ts";
import { policies } from "../declarations.ts";
import type { Clock, Random } from "../kernel/clock.ts";
import type { ClientAddresses } from "../kernel/http/client-address.ts";
import { createLimiter, type Limiter } from "../kernel/limits/limiter.ts";
import { createMemoryStore } from "../kernel/limits/memory-store.ts";
import { openRedis } from "../kernel/limits/redis-connection.ts";
import { createRedisStore } from "../kernel/limits/redis-store.ts";
import { openSavedWindows } from "../kernel/limits/saved-windows.ts";
import { createScanDetector, type ScanDetector, type ScanSubject } from "../kernel/limits/scan-detector.ts";
import { errorFields, type Log } from "../kernel/log.ts";
import type { Metrics } from "../kernel/metrics.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { RunTx, Transactions } from "../kernel/tx.ts";
import { type AddressBanList, openAddressBans } from "./address-bans.ts";
import { banSubject } from "./ban-store.ts";

export interface Limits {
  readonly limiter: Limiter;
  readonly bans: AddressBanList;
  readonly scanDetector: ScanDetector;
  close(): Promise<void>;
}

export interface LimitsOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly secrets: Secrets;
  readonly transactions: Transactions;
  readonly addresses: ClientAddresses;
  /** The file that keeps long windows over a restart. */
  readonly savedWindowsFile: string;
}

export async function openLimits(options: LimitsOptions): Promise<Limits> {
  const { config, clock, log, metrics, secrets } = options;
  const { redisUrl: url } = config;
  const redis = url === null ? undefined : await openRedis({ url, log, onState: (up) => metrics.limitStoreUp(up) });
  const saved = openSavedWindows({ file: options.savedWindowsFile, policies, secrets, log });
  const local = createMemoryStore({ clock, policies, saved });
  const limiter = createLimiter({
    policies,
    local,
    ...(redis && { shared: createRedisStore({ connection: redis, clock, policies, secrets }) }),
    plannedMode: config.plannedLimits,
    overrides: overridesOf(config),
    metrics,
  });
  const stopping = new AbortController();
  const run: RunTx = (scope, work) =>
    options.transactions.run(
      { actor: { kind: "system" }, context: { operation: "limits.watch" }, signal: stopping.signal },
      scope,
      work,
    );
  const bans = await openAddressBans({ run, transactions: options.transactions, clock, log });
  const busy = new Set<Promise<void>>();
  const onError = (error: unknown) => log.error("ban_failed", errorFields(error));
  const onScan = (subject: ScanSubject) => {
    const work = ban(options, run, subject)
      .catch(onError)
      .finally(() => busy.delete(work));
    busy.add(work);
  };
  return {
    limiter,
    bans,
    scanDetector: createScanDetector({
      clock,
      ...(redis && { redis }),
      ...(config.limitSuspicious !== null && { most: config.limitSuspicious }),
      nameOf: (id) => secrets.digest("limit-key", id).toString("base64url"),
      onScan,
      onError,
    }),
    async close() {
      await Promise.allSettled(busy);
      const bansClosed = bans.close();
      stopping.abort();
      await Promise.all([bansClosed, local.close(), redis?.close()]);
    },
  };
}

async function ban(
  { config, random, metrics, log, addresses }: LimitsOptions,
  run: RunTx,
  subject: ScanSubject,
): Promise<void> {
  // All clients are behind it.
  if (subject.kind === "address" && addresses.coversProxy(subject.id)) {
    log.warn("proxy_not_banned", { ip: plainAddress(subject.id) });
    return;
  }
  const accountId = subject.kind === "address" ? null : subject.accountId;
  const wanted = { kind: subject.kind, subject: subject.id, accountId, by: { cause: "pattern" } } as const;
  const row = await banSubject(run, wanted, { random, staffEmail: config.staffEmail });
  if (row === undefined) return;
  metrics.banned(row.kind);
  log.warn("banned", { target_id: row.id, reason: row.kind });
}

/** An address key without the length of its network. */
function plainAddress(key: string): string {
  const [address = ""] = key.split("/");
  return ipaddr.isValid(address) ? address : "0.0.0.0";
}

function overridesOf(config: Config) {
  return {
    login: config.limitLogin,
    login_ip: config.limitLoginIp,
    sms_minute: config.limitSmsMinute,
    sms_hour: config.limitSmsHour,
    applications: config.limitApplications,
    snapshots_list: config.limitSnapshotsList,
    snapshots_create: config.limitSnapshotsCreate,
    snapshots_create_hour: config.limitSnapshotsCreateHour,
    snapshots_verify: config.limitSnapshotsVerify,
    restore_create: config.limitRestoreCreate,
    audit_export: config.limitAuditExport,
    audit_shared_export: config.limitAuditSharedExport,
    audit_shared_events: config.limitAuditSharedEvents,
    token: config.limitToken,
    admin: config.limitAdmin,
    package: config.limitPackage,
    anonymous: config.limitAnonymous,
  };
}

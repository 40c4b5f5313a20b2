/** The parts that every other part of a running service stands on; laid by `start.ts`. */

import type { Config } from "./config.ts";
import type { Clock, Random } from "./kernel/clock.ts";
import type { DataFolder } from "./kernel/data-folder.ts";
import type { Pools } from "./kernel/database/pool.ts";
import type { ErrorReports } from "./kernel/error-reports.ts";
import type { ClientAddresses } from "./kernel/http/client-address.ts";
import type { Endpoint } from "./kernel/http/endpoint.ts";
import type { Limiter } from "./kernel/limits/limiter.ts";
import type { Log } from "./kernel/log.ts";
import type { Metrics } from "./kernel/metrics.ts";
import type { AccessTokens, Authenticator } from "./kernel/principal.ts";
import type { Secrets } from "./kernel/secrets.ts";
import type { Transactions } from "./kernel/tx.ts";
import type { MessagePorts } from "./messages/index.ts";

/** Where the service is reached. Known once it listens; until then it is empty. */
export interface Place {
  boundUrl: string;
  /** Origin of absolute URLs: the setting, else the address bound. */
  publicUrl(): string;
  /** Requests wait for this: whatever has to be on disk before the first answer. */
  readonly opened: Promise<void>;
  open(): void;
}

export interface Foundation {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly folder: DataFolder;
  readonly pools: Pools;
  readonly metrics: Metrics;
  readonly reports: ErrorReports;
  readonly secrets: Secrets;
  readonly transactions: Transactions;
  readonly addresses: ClientAddresses;
  readonly messages: MessagePorts;
  readonly authenticator: Authenticator;
  readonly tokens: AccessTokens;
  readonly limiter: (real: Limiter) => Limiter;
  readonly place: Place;
  readonly endpoints: readonly Endpoint[];
  /** Registers how to undo a part; parts are undone in reverse order. */
  readonly onStop: (undo: () => Promise<unknown>) => void;
}

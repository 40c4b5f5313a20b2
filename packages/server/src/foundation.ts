/** The parts that a running service consists of, without its listener and its jobs. Made by `start.ts`. */

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
import type { RootKeyCopy } from "./keys/index.ts";
import type { MessagePorts } from "./messages/index.ts";
import type { Storage } from "./open-storage.ts";

/** Where the service is reached. Known once it listens; until then it is empty. */
export interface Place {
  boundUrl: string;
  /** Origin of absolute URLs: the setting, else the address bound. */
  publicUrl(): string;
  /** Requests wait for this. Before it, everything that the first answer needs is written to disk. */
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
  readonly storage: Storage;
  readonly rootKeyCopy: RootKeyCopy;
  /** At the first start: what losing the master key means. */
  readonly masterKeyWarning: string | null;
  readonly transactions: Transactions;
  readonly addresses: ClientAddresses;
  readonly messages: MessagePorts;
  readonly authenticator: Authenticator;
  readonly tokens: AccessTokens;
  readonly limiter: (real: Limiter) => Limiter;
  readonly place: Place;
  readonly endpoints: readonly Endpoint[];
  /** Registers how a part is stopped; parts are stopped in reverse order. */
  readonly onStop: (stop: () => Promise<unknown>) => void;
}

/** The parts that the HTTP side of the kernel uses; put together once per service by `listen.ts`. */

import type { Config } from "../../config.ts";
import type { Clock, Random } from "../clock.ts";
import type { Cursors } from "../cursors.ts";
import type { Declared } from "../declared.ts";
import type { Services } from "../domain-services.ts";
import type { ErrorReports } from "../error-reports.ts";
import type { Idempotency } from "../idempotency.ts";
import type { AddressBans } from "../limits/bans.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { ScanDetector } from "../limits/scan-detector.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import type { AccessTokens, Authenticator, Principal } from "../principal.ts";
import type { ProblemCode } from "../problems.ts";
import type { Secrets } from "../secrets.ts";
import type { Transactions } from "../tx.ts";
import type { UploadIdempotency } from "../upload-idempotency.ts";
import type { ClientAddresses } from "./client-address.ts";
import type { Transfers } from "./transfers.ts";
import type { UnfinishedBodies } from "./unfinished-bodies.ts";

/** A request of somebody known that was refused because they may not do what they asked for. */
export interface GuardRefusal {
  readonly principal: Exclude<Principal, { kind: "anonymous" }>;
  readonly operation: string;
  readonly code: ProblemCode;
  readonly requestId: string;
  readonly address: string;
}

export interface HttpKernel {
  readonly settings: Config;
  readonly declared: Declared;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly reports: ErrorReports;
  readonly addresses: ClientAddresses;
  readonly authenticator: Authenticator;
  readonly tokens: AccessTokens;
  readonly secrets: Secrets;
  readonly services: Services;
  readonly limiter: Limiter;
  readonly bans: AddressBans;
  readonly scanDetector: ScanDetector;
  readonly transactions: Transactions;
  readonly idempotency: Idempotency;
  readonly uploadIdempotency: UploadIdempotency;
  readonly cursors: Cursors;
  readonly unfinishedBodies: UnfinishedBodies;
  readonly transfers: Transfers;
  /** Told of every refusal. It must not throw. */
  readonly onRefusal: (refusal: GuardRefusal) => void;
  /** Origin of absolute URLs; known once the service listens. Never taken from a request. */
  readonly publicUrl: () => string;
  /** No request is answered before this. */
  readonly opened: Promise<void>;
}

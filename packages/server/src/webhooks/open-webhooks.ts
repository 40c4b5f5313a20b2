/** What webhooks keep open while the service runs: requests that wait for events, the rules of addresses, and the worker that sends. */

import { readFile } from "node:fs/promises";
import type { Registry } from "prom-client";
import type { Config } from "../config.ts";
import type { Clock, Random } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import type { Secrets } from "../kernel/secrets.ts";
import { StartError } from "../kernel/start-error.ts";
import type { Transactions } from "../kernel/tx.ts";
import { deliveryMetrics } from "./delivery-metrics.ts";
import { DeliveryWorker } from "./delivery-worker.ts";
import { EventWaits } from "./event-waits.ts";
import { createSender } from "./http-sender.ts";
import { type AllowList, allowListOf } from "./public-address.ts";
import { askDns, type HostResolver, hostResolver } from "./resolve-host.ts";

export interface WebhookServices {
  readonly waits: EventWaits;
  readonly allowed: AllowList;
  readonly resolver: HostResolver;
  /** Starts to send deliveries. In a process that answers requests only it is not called. */
  startDelivering(): void;
}

declare module "../kernel/domain-services.ts" {
  interface Services {
    readonly webhooks: WebhookServices;
  }
}

export interface WebhookParts {
  readonly config: Config;
  readonly transactions: Transactions;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: { readonly registry: Registry };
  readonly onStop: (stop: () => Promise<unknown>) => void;
}

export async function openWebhooks(parts: WebhookParts): Promise<WebhookServices> {
  const { config, transactions, log, metrics, onStop } = parts;
  const allowed = allowListOf(config.webhookAllow);
  const resolver = hostResolver(allowed, askDns(config.webhookDns ?? undefined));
  const ca = config.webhookCaFile === null ? undefined : await readAuthority(config.webhookCaFile);
  return {
    waits: new EventWaits(transactions, log),
    allowed,
    resolver,
    startDelivering() {
      const sender = createSender({ resolver, ca });
      const worker = new DeliveryWorker({ ...parts, sender, counts: deliveryMetrics(metrics.registry) });
      worker.start();
      onStop(async () => {
        await worker.stop(Math.min(config.drainSeconds * 1000, stopMs));
        await sender.close();
      });
    },
  };
}

/** Attempts that are not answered in this time are made again by another worker: most receivers answer in less. */
const stopMs = 3_000;

async function readAuthority(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new StartError("setting_unusable", "EMANET_WEBHOOK_CA_FILE cannot be read.", { cause: error });
  }
}

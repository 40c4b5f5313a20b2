/** What orders keep open while the service runs: requests that wait for one. */

import type { Log } from "../kernel/log.ts";
import type { Transactions } from "../kernel/tx.ts";
import { OrderWaits } from "./order-waits.ts";

export interface OrderServices {
  readonly waits: OrderWaits;
}

declare module "../kernel/domain-services.ts" {
  interface Services {
    readonly orders: OrderServices;
  }
}

export function openOrders({ transactions, log }: { transactions: Transactions; log: Log }): OrderServices {
  return { waits: new OrderWaits(transactions, log) };
}

/** The operations of orders, in the order of the document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { orderReadOperations } from "../read-operations.ts";
import { endOrder } from "./finish-order.ts";
import { listOrders } from "./list-orders.ts";
import { readOrderPack } from "./read-order-pack.ts";
import { reportProgress } from "./report-order.ts";
import { startOrder } from "./start-order.ts";

export const orderEndpoints: readonly Endpoint[] = [
  listOrders,
  startOrder,
  reportProgress,
  endOrder,
  ...orderReadOperations,
  readOrderPack,
];

export const orderTags: readonly OpenapiTag[] = [
  { name: "orders", description: "Restores onto the machine of an agent, as the agent sees them." },
];

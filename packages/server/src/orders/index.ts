/**
 * Orders, as agents see them: restores onto their machines. The rows are those of `restores`; this domain has the operations of agents, and the
 * requests that wait for an order (`ctx.services.orders`).
 *
 * An agent needs `snapshots:write` alone: the order is the right to read, and ends with it.
 *
 * Invariants: an agent sees its own orders only; one run of it works on an order; while it does, it reads the items that the order's paths
 * need and no others; when the order ends, or the agent is revoked, the next call is refused, and what waits or is sent ends within ten
 * seconds.
 */

export { openOrders } from "./open-orders.ts";

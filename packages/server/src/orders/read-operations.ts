/** `POST /v1/orders/{id}/read/…`: the read protocol for the agent of an order, for what the order names and while it works on it. */

import { Bitmap, readOperations as names, type ReadOperation } from "@emanet/engine";
import { type Ctx, type Endpoint, endpoint } from "../kernel/http/endpoint.ts";
import { type Principal, rowAccessOf } from "../kernel/principal.ts";
import { answerMessage, messageSpec, type ReadableSnapshot, readable } from "../reads/index.ts";
import { readReach } from "../restores/index.ts";
import { access, orderAtWork, shared } from "./own-agent.ts";
import { orderId } from "./shapes.ts";

export const orderReadOperations: readonly Endpoint[] = names.map(readOperation);

function readOperation(operation: ReadOperation): Endpoint {
  const { description, ...spec } = messageSpec(operation);
  return endpoint(
    {
      ...spec,
      ...shared,
      ...{ id: `orders.read_${operation}`, method: "POST", path: `/v1/orders/{id}/read/${operation}` },
      description: `${description} For the agent that works on the order, and only for items that the order's paths need. 409: the order has ended.`,
      access,
      params: orderId,
      errors: ["state_conflict", "validation_failed"],
    },
    async (ctx, { principal, params, upload }) =>
      answerMessage(await openOrder(ctx, principal, params.id), operation, upload),
  );
}

/** What the agent may read. Throws `not_found` and `state_conflict`. */
export async function openOrder(
  ctx: Ctx,
  principal: Extract<Principal, { accountId: string }>,
  id: string,
): Promise<ReadableSnapshot> {
  const { accountId } = principal;
  const { order, reach } = await ctx.read(rowAccessOf(principal), async (tx) => ({
    order: await orderAtWork(tx, principal, id),
    reach: await readReach(tx, accountId, id),
  }));
  return readable(ctx, {
    ...{ accountId, vaultId: order.vault_id, snapshotId: order.snapshot_id },
    ...(reach !== null && { reach: Bitmap.decode(reach) }),
  });
}

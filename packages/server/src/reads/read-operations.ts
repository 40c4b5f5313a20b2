/**
 * `POST /v1/snapshots/{id}/read/…`: the operations of the read protocol. They share everything but the message, so they are a table here and
 * not a file each.
 */

import { readOperations as names, type ReadOperation } from "@emanet/engine";
import { type Endpoint, endpoint } from "../kernel/http/endpoint.ts";
import { snapshotId } from "../snapshots/index.ts";
import { answerMessage, messageSpec } from "./read-message.ts";
import { openReadable } from "./readable-snapshot.ts";

export const readOperations: readonly Endpoint[] = names.map(readOperation);

function readOperation(operation: ReadOperation): Endpoint {
  return endpoint(
    {
      ...{ id: `reads.${operation}`, method: "POST", path: `/v1/snapshots/{id}/read/${operation}` },
      tag: "reads",
      ...messageSpec(operation),
      access: { kind: "account", scope: "snapshots:read" },
      params: snapshotId,
      errors: ["state_conflict", "snapshot_expired", "validation_failed"],
    },
    async (ctx, { principal, params, upload }) =>
      answerMessage(await openReadable(ctx, principal, params.id), operation, upload),
  );
}

/** Changes what people and programs call a snapshot. The manifest keeps what the upload said. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, nullable, Type } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { shownWithVerification } from "../asked-verification.ts";
import { targetsOf } from "../lifecycle.ts";
import { seesStorage } from "../new-upload.ts";
import { label, metadata, snapshotId, snapshotShape } from "../shapes.ts";
import { findSnapshot, setDetails } from "../store.ts";
import { lockOwnSnapshot } from "../visible-rows.ts";

export const updateSnapshot = endpoint(
  {
    id: "snapshots.update",
    method: "PATCH",
    path: "/v1/snapshots/{id}",
    aliases: ["/snapshots/{id}"],
    tag: "snapshots",
    summary: "Change a snapshot's label or metadata",
    description:
      "Members that are left out stay as they are; `metadata` replaces all of it. A client without `snapshots:read` changes only what it created.",
    access: { kind: "account", scope: "snapshots:write" },
    withinVaults: true,
    ifMatch: "optional",
    params: snapshotId,
    body: closed(
      { label: Type.Optional(nullable(label)), metadata: Type.Optional(metadata) },
      { title: "SnapshotChange" },
    ),
    replies: { 200: { description: "The snapshot.", body: snapshotShape } },
  },
  async (ctx, { principal, params, body, language, requireMatch }) => {
    const viewer = { language, seesStorage: seesStorage(principal) };
    const shown = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const before = await lockOwnSnapshot(tx, principal, params.id);
      requireMatch(await shownWithVerification(tx, before, viewer));
      const details = {
        label: body.label === undefined ? before.label : body.label,
        metadata: body.metadata ?? before.metadata,
      };
      await setDetails(tx, principal.accountId, params.id, details);
      tx.audit({ action: "snapshot.updated", targets: targetsOf(before.id, before.source_id) });
      const after = (await findSnapshot(tx, principal.accountId, params.id)) ?? before;
      return shownWithVerification(tx, after, viewer);
    });
    return { status: 200, body: shown };
  },
);

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { askedVerification } from "../asked-verification.ts";
import { visibleSnapshot } from "../read-content.ts";
import { showSnapshot, snapshotId, snapshotShape } from "../shapes.ts";

export const getSnapshot = endpoint(
  {
    id: "snapshots.get",
    method: "GET",
    path: "/v1/snapshots/{id}",
    aliases: ["/snapshots/{id}"],
    tag: "snapshots",
    summary: "Read a snapshot",
    description: "What is known of a snapshot. Its files are read with the operations below it.",
    access: { kind: "account", scope: "snapshots:read" },
    withinVaults: true,
    params: snapshotId,
    replies: { 200: { description: "The snapshot.", body: snapshotShape } },
  },
  async (ctx, { principal, params, language }) => {
    const record = await visibleSnapshot(ctx, principal, params.id);
    const shown = showSnapshot(record, { language, seesStorage: true });
    // Most were never asked about, and need no second query.
    if (record.verify_job_id === null) return { status: 200, body: { ...shown, verification: null } };
    const verification = await ctx.read(rowAccessOf(principal), (tx) => askedVerification(tx, record));
    return { status: 200, body: { ...shown, verification } };
  },
);

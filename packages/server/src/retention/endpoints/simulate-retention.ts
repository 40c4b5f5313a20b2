/** `POST /v1/retention/simulate`: what a policy would remove now, what would stay and why, and how many bytes that frees. */

import { spaceFreedBy } from "@emanet/engine";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, nullable, oneOf, Type, timestamp, uuid } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { byteCount, engineId, withStoreProblems } from "../../snapshots/index.ts";
import { findSourceById, findVault, reads, requireInVault, requireVault } from "../../vaults/index.ts";
import { decideAll } from "../apply.ts";
import { policiesOf } from "../policy-store.ts";
import { policyFieldsOfRequest, policyOfBody, reasonShape } from "../shapes.ts";
import { completedSnapshots } from "../snapshot-store.ts";

/** What goes comes first. The counts are of all. */
const maxShown = 1000;
/** Marking a vault of terabytes takes a minute. */
const deadlineMs = 120_000;

export const simulateRetention = endpoint(
  {
    id: "retention.simulate",
    method: "POST",
    path: "/v1/retention/simulate",
    tag: "retention",
    summary: "Try a retention policy",
    description:
      "What the policy would remove now, what would stay and why. Nothing is changed. Without `policy` the present one is used; for a vault a given one stands for all its sources. `freed_bytes` is what the removal frees, exactly while no upload runs; on one day at most a tenth of a vault's snapshots goes, the oldest first.",
    access: reads,
    withinVaults: true,
    idempotency: "none",
    deadlineMs,
    body: closed(
      {
        vault_id: Type.Optional(uuid("All sources of this vault.")),
        source_id: Type.Optional(uuid("This source; either this or `vault_id`.")),
        policy: Type.Optional(closed(policyFieldsOfRequest, { title: "SimulatedPolicy" })),
      },
      { title: "RetentionSimulation" },
    ),
    replies: {
      200: {
        description: "What would happen.",
        body: closed(
          {
            removed: byteCount("Snapshots that would go."),
            kept: byteCount("Snapshots that would stay."),
            freed_bytes: byteCount("Stored bytes that the removal frees."),
            repack_bytes: byteCount("Bytes that a later repack frees, as an estimate."),
            snapshots: Type.Array(
              closed(
                {
                  id: uuid("The snapshot."),
                  source_id: uuid("Its source."),
                  completed_at: timestamp("When it was completed."),
                  removed_by: nullable(oneOf(["policy", "ceiling", "deletion"], "What removes it; null: it stays.")),
                  reasons: Type.Array(reasonShape, { maxItems: 20, description: "Why it stays." }),
                },
                { title: "SimulatedSnapshot" },
              ),
              { maxItems: maxShown, description: "Those that go first, then the others; the oldest first." },
            ),
          },
          { title: "RetentionSimulated" },
        ),
      },
    },
    errors: ["not_found"],
  },
  async (ctx, { principal, body, language }) => {
    const { accountId } = principal;
    const { vault_id: wantedVault, source_id: sourceId = null } = body;
    if ((wantedVault === undefined) === (sourceId === null))
      throw new Problem("validation_failed", { errors: [invalidField("/source_id", "not_allowed", language)] });
    const given = body.policy && policyOfBody(body.policy, language, "/policy");
    const { vaultId, policies, snapshots } = await ctx.read(rowAccessOf(principal), async (tx) => {
      const id =
        sourceId === null
          ? (await requireVault(principal, findVault(tx, accountId, wantedVault ?? ""))).id
          : (await requireInVault(principal, findSourceById(tx, accountId, sourceId))).vault_id;
      const rows = await completedSnapshots(tx, { vaultId: id, sourceId });
      return { vaultId: id, snapshots: rows, policies: await policiesOf(tx, id) };
    });
    const decisions = decideAll(snapshots, given === undefined ? policies : { for: () => given }, ctx.clock.now());
    const shown = snapshots.map((one) => {
      const decision = decisions.get(one.id);
      return {
        ...{ id: one.id, source_id: one.sourceId, completed_at: new Date(one.completedAt).toISOString() },
        removed_by: decision?.cause ?? null,
        reasons: decision?.cause === null ? [...decision.reasons] : [],
      };
    });
    const going = shown.filter((one) => one.removed_by !== null);
    const staying = shown.filter((one) => one.removed_by === null);
    const { freedBytes, repackBytes } = await withStoreProblems(async () => {
      const vault = await ctx.services.vaults.open(accountId, vaultId);
      return spaceFreedBy(vault, new Set(going.map(({ id }) => engineId(id))));
    });
    return {
      status: 200,
      body: {
        ...{ removed: going.length, kept: staying.length },
        ...{ freed_bytes: freedBytes, repack_bytes: Math.max(0, repackBytes) },
        snapshots: [...going, ...staying].slice(0, maxShown),
      },
    };
  },
);

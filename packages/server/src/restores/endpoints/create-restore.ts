/** Starts a restore. Everything that can be refused is refused here; a job does the work. */

import { lockAgent } from "../../agents/index.ts";
import { requireFreshPerson } from "../../kernel/http/access.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, type Static, Type, text, uuid } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { type Principal, rowAccessOf } from "../../kernel/principal.ts";
import { type Language, Problem } from "../../kernel/problems.ts";
import type { Tx } from "../../kernel/tx.ts";
import {
  bytesOfPath,
  contentProblem,
  lockSnapshot,
  openTree,
  visibleSnapshot,
  withStoreProblems,
} from "../../snapshots/index.ts";
import { writerOf } from "../../vaults/index.ts";
import { prepareRestore } from "../jobs.ts";
import { createRestore as insert } from "../lifecycle.ts";
import { countOpenOrders, insertOrder, type NewOrder } from "../order-store.ts";
import { orderTarget } from "../order-target.ts";
import { planOrder } from "../plan-order.ts";
import { maxOpenOrders, type targetKinds } from "../rules.ts";
import { newTarget, onDamage, paths, restoreShape, showRestore } from "../shapes.ts";
import { findRestore, setJob } from "../store.ts";
import { wantedFiles } from "../wanted-paths.ts";

type AccountPrincipal = Extract<Principal, { accountId: string }>;

export const createRestore = endpoint(
  {
    id: "restores.create",
    method: "POST",
    path: "/v1/restore",
    tag: "restores",
    summary: "Start a restore",
    description: [
      "Brings a snapshot or some of its files back. With the target `download` everything is read and compared with its hash first; then the",
      "archive can be downloaded for seven days, by any ranges and any number of times. With the target `agent` the agent reads the files and writes",
      "them onto its machine, only below the roots that the machine permits; an agent that is absent for 24 hours fails it. That needs the scope",
      "`restores:agent`, and of people a fresh second factor. Follow a restore with `GET /v1/restore/{id}` or the events",
      "`restore.completed` and `restore.failed`. At most 10 an hour. A suspended account can restore.",
    ].join(" "),
    access: { kind: "account", scope: "restores:write", orScope: "restores:agent" },
    withinVaults: true,
    whileSuspended: true,
    limits: ["restore_create"],
    body: closed(
      {
        snapshot_id: uuid("The snapshot."),
        paths: Type.Optional(paths),
        on_damage: Type.Optional(onDamage),
        target: newTarget,
      },
      { title: "NewRestore" },
    ),
    replies: {
      202: {
        description: "It was accepted.",
        body: restoreShape,
        headers: { Location: text(200, { description: "Path of the restore.", examples: ["/v1/restore/…"] }) },
      },
    },
    errors: ["not_found", "state_conflict", "snapshot_expired", "step_up_required", "quota_exceeded"],
  },
  async (ctx, { principal, body, language }) => {
    const { target } = body;
    requireRight(principal, target.kind, ctx.clock.now());
    requireFields(target, language);
    const snapshot = await visibleSnapshot(ctx, principal, body.snapshot_id);
    const problem = contentProblem(snapshot.status);
    if (problem !== null) throw new Problem(problem);
    const given = body.paths?.map(bytesOfPath);
    const wanted =
      given && (await withStoreProblems(() => wantedFiles(() => openTree(ctx.services, snapshot), given, language)));
    const { kind, id: creator } = writerOf(principal);
    const id = ctx.random.uuid();
    const { accountId } = principal;
    const restore = await ctx.tx(rowAccessOf(principal), async (tx) => {
      // Not deleted meanwhile.
      const locked = await lockSnapshot(tx, accountId, snapshot.id);
      if (locked?.status !== "completed") throw new Problem("not_found");
      const isOrder = target.kind === "agent";
      const order = isOrder && (await orderTarget(tx, principal, snapshot.vault_id, target, language));
      await insert(tx, {
        ...{ id, account_id: accountId, vault_id: snapshot.vault_id, snapshot_id: snapshot.id },
        ...{ target_kind: target.kind, format: target.format ?? null, on_damage: body.on_damage ?? "fail" },
        paths: wanted ? [...wanted.paths] : null,
        bytes_total: wanted?.bytes ?? snapshot.size_bytes ?? 0,
        files_total: wanted?.files ?? snapshot.file_count ?? 0,
        ...{ created_by_kind: kind, created_by_id: creator },
      });
      if (order) await addOrder(tx, { restore_id: id, account_id: accountId, ...order }, { isPlanned: !wanted });
      const task = isOrder ? planOrder : prepareRestore;
      const needsJob = !isOrder || wanted !== undefined;
      const job = needsJob ? await tx.job({ task, payload: { accountId, restoreId: id } }) : undefined;
      if (job !== undefined) await setJob(tx, accountId, id, job);
      return findRestore(tx, accountId, id);
    });
    if (restore === undefined) throw new Error("a new restore was not found");
    const headers = { Location: `/v1/restore/${id}` };
    return { status: 202, headers, body: showRestore(restore, language, ctx.clock.now()) };
  },
);

/** People order agents with a fresh second factor, programs with a scope of its own: it is writing onto a machine. */
function requireRight(principal: AccountPrincipal, kind: (typeof targetKinds)[number], now: Date): void {
  const scope = kind === "agent" ? "restores:agent" : "restores:write";
  if (!principal.scopes.has(scope)) throw new Problem("insufficient_scope");
  if (kind === "agent" && principal.kind === "member") requireFreshPerson(principal, now);
}

/** Each kind of target has fields of its own. */
function requireFields(target: Static<typeof newTarget>, language: Language): void {
  const isDownload = target.kind === "download";
  const others = isDownload ? (["agent_id", "path", "on_conflict"] as const) : (["format"] as const);
  const errors = others
    .filter((field) => target[field] !== undefined)
    .map((field) => invalidField(`/target/${field}`, "not_allowed", language));
  if (isDownload && target.format === undefined) errors.push(invalidField("/target/format", "required", language));
  if (errors.length > 0) throw new Problem("validation_failed", { errors });
}

async function addOrder(tx: Tx, order: NewOrder, plan: { readonly isPlanned: boolean }): Promise<void> {
  // Its lock, so that two orders at the same time are counted one after the other.
  await lockAgent(tx, order.account_id, order.agent_id);
  if ((await countOpenOrders(tx, order.account_id, order.agent_id)) >= maxOpenOrders)
    throw new Problem("quota_exceeded");
  await insertOrder(tx, order, plan);
}

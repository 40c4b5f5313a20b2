/** Starts a restore. Everything that can be refused is refused here; a job does the work. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, text, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
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
import { newTarget, onDamage, paths, restoreShape, showRestore } from "../shapes.ts";
import { findRestore, setJob } from "../store.ts";
import { wantedFiles } from "../wanted-paths.ts";

export const createRestore = endpoint(
  {
    id: "restores.create",
    method: "POST",
    path: "/v1/restore",
    tag: "restores",
    summary: "Start a restore",
    description: [
      "Brings a snapshot or some of its files back. With the target `download` everything is read and compared with its hash first; then the",
      "archive can be downloaded for seven days, by any ranges and any number of times. Follow it with `GET /v1/restore/{id}` or the events",
      "`restore.completed` and `restore.failed`. At most 10 an hour. A suspended account can restore.",
    ].join(" "),
    access: { kind: "account", scope: "restores:write" },
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
    errors: ["not_found", "state_conflict", "snapshot_expired"],
  },
  async (ctx, { principal, body, language }) => {
    const snapshot = await visibleSnapshot(ctx, principal, body.snapshot_id);
    const problem = contentProblem(snapshot.status);
    if (problem !== null) throw new Problem(problem);
    const given = body.paths?.map(bytesOfPath);
    const wanted =
      given &&
      (await withStoreProblems(async () => wantedFiles(await openTree(ctx.services, snapshot), given, language)));
    const { kind, id: creator } = writerOf(principal);
    const id = ctx.random.uuid();
    const { accountId } = principal;
    const restore = await ctx.tx(rowAccessOf(principal), async (tx) => {
      // Not deleted meanwhile.
      const locked = await lockSnapshot(tx, accountId, snapshot.id);
      if (locked?.status !== "completed") throw new Problem("not_found");
      await insert(tx, {
        ...{ id, account_id: accountId, vault_id: snapshot.vault_id, snapshot_id: snapshot.id },
        ...{ target_kind: body.target.kind, format: body.target.format, on_damage: body.on_damage ?? "fail" },
        paths: wanted ? [...wanted.paths] : null,
        bytes_total: wanted?.bytes ?? snapshot.size_bytes ?? 0,
        files_total: wanted?.files ?? snapshot.file_count ?? 0,
        ...{ created_by_kind: kind, created_by_id: creator },
      });
      const job = await tx.job({ task: prepareRestore, payload: { accountId, restoreId: id } });
      if (job !== undefined) await setJob(tx, accountId, id, job);
      return findRestore(tx, accountId, id);
    });
    if (restore === undefined) throw new Error("a new restore was not found");
    const headers = { Location: `/v1/restore/${id}` };
    return { status: 202, headers, body: showRestore(restore, language, ctx.clock.now()) };
  },
);

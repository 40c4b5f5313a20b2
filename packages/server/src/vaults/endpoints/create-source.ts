/** `POST /v1/sources`: a source before its first upload. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, uuid } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { sourceFields, sourceSchema, sourceShape, targetVaultId } from "../shapes.ts";
import { canonicalName, isSourceId, makeSource, requireWriter, targetVault } from "../upload-target.ts";
import { writerOf } from "../writers.ts";

export const createSource = endpoint(
  {
    id: "sources.create",
    method: "POST",
    path: "/v1/sources",
    tag: "sources",
    summary: "Create a source",
    description:
      "Optional: an upload with a new name makes its source. Use it to say beforehand how often snapshots are expected. A program that creates a source is its first writer; a source that a person creates is bound to the first that uploads to it. 409 when the vault has a source with this name or alias.",
    access: { kind: "account", scope: "snapshots:write" },
    withinVaults: true,
    body: closed(
      {
        name: sourceFields.name,
        kind: Type.Optional(sourceFields.kind),
        expected_every: Type.Optional(sourceFields.expected_every),
        vault_id: Type.Optional(targetVaultId),
        taxpayer_id: Type.Optional(uuid("The taxpayer whose vault it is.")),
      },
      { title: "NewSource" },
    ),
    replies: { 201: { description: "The source.", body: sourceSchema } },
    errors: ["state_conflict", "quota_exceeded", "writer_not_bound"],
  },
  async (ctx, { principal, body, language }) => {
    if (isSourceId(body.name)) {
      throw new Problem("validation_failed", { errors: [invalidField("/name", "wrong_format", language)] });
    }
    const caller = { principal, language, random: ctx.random, place: "" } as const;
    const source = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const vault = await targetVault(tx, caller, { vaultId: body.vault_id, taxpayerId: body.taxpayer_id });
      const made = await makeSource(tx, ctx.random, vault, {
        name: canonicalName(body.name),
        kind: body.kind ?? "files",
        expectedEverySeconds: body.expected_every ?? null,
      });
      if (!made.isNew) throw new Problem("state_conflict");
      if (principal.kind === "client") await requireWriter(tx, made.source, writerOf(principal));
      return made.source;
    });
    return { status: 201, body: sourceShape(source) };
  },
);

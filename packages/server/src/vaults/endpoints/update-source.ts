/** `PATCH /v1/sources/{id}`: another name, kind or expectation. The old name stays as an alias. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import type { Tx } from "../../kernel/tx.ts";
import { changes, requireInVault, sourceId } from "../operations.ts";
import { maxAliases, sourceFields, sourceSchema, sourceShape } from "../shapes.ts";
import {
  updateSource as changeSource,
  deleteAlias,
  findSourceById,
  findSourceByName,
  insertAlias,
  type SourceRow,
} from "../source-store.ts";
import { canonicalName, isSourceId } from "../upload-target.ts";
import { lockVault } from "../vault-store.ts";

export const updateSource = endpoint(
  {
    id: "sources.update",
    method: "PATCH",
    path: "/v1/sources/{id}",
    tag: "sources",
    summary: "Change a source",
    description:
      "Changes name, kind and how often snapshots are expected. After a rename uploads with the old name still find the source. 409 when another source of the vault has the name or had it before, or when it has had too many names. Needs a fresh second factor.",
    access: changes,
    stepUp: true,
    params: sourceId,
    body: closed(
      {
        name: Type.Optional(sourceFields.name),
        kind: Type.Optional(sourceFields.kind),
        expected_every: Type.Optional(sourceFields.expected_every),
      },
      { title: "SourceChange" },
    ),
    ifMatch: "optional",
    replies: { 200: { description: "The source.", body: sourceSchema } },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params, body, language, requireMatch }) => {
    const { accountId } = principal;
    if (body.name !== undefined && isSourceId(body.name)) {
      throw new Problem("validation_failed", { errors: [invalidField("/name", "wrong_format", language)] });
    }
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const found = await requireInVault(principal, findSourceById(tx, accountId, params.id));
      // Names change under the lock of the vault, as in uploads that make sources.
      await lockVault(tx, accountId, found.vault_id);
      const before = await requireInVault(principal, findSourceById(tx, accountId, params.id));
      requireMatch(sourceShape(before));
      const { expected_every: expected, name, ...rest } = body;
      if (name !== undefined) await takeName(tx, before, canonicalName(name));
      await changeSource(tx, accountId, before.id, {
        ...rest,
        ...(name !== undefined && { name: canonicalName(name) }),
        ...(expected !== undefined && { expected_every_s: expected }),
      });
      const metadata = { fields: Object.keys(body).sort().join(" ") };
      tx.audit({ action: "source.changed", targets: [{ type: "source", id: before.id }], metadata });
      return requireInVault(principal, findSourceById(tx, accountId, before.id));
    });
    return { status: 200, body: sourceShape(row) };
  },
);

/** Keeps the present name as an alias, unless it stays the name. */
async function takeName(tx: Tx, source: SourceRow, name: string): Promise<void> {
  if (name === source.name) return;
  const holder = await findSourceByName(tx, { accountId: source.account_id, vaultId: source.vault_id, name });
  if (holder !== undefined && holder.id !== source.id) throw new Problem("state_conflict");
  const isOldName = holder !== undefined;
  if (!isOldName && source.aliases.length >= maxAliases) throw new Problem("state_conflict");
  await deleteAlias(tx, source, name);
  await insertAlias(tx, source);
}

/** `PUT /v1/sources/{id}/writers`: binds and unbinds writers. */

import { findClient, findPerson } from "../../accounts/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import type { ReadTx } from "../../kernel/tx.ts";
import { changes, requireInVault, sourceId } from "../operations.ts";
import { maxWriters, writerFields, writerListSchema, writerListShape } from "../shapes.ts";
import { bindWriter, findSourceById, isAgentOf, listWriters, lockSource, unbindWriter } from "../source-store.ts";
import { type Writer, writerName } from "../writers.ts";

export const setSourceWriters = endpoint(
  {
    id: "sources.set_writers",
    method: "PUT",
    path: "/v1/sources/{id}/writers",
    tag: "sources",
    summary: "Bind writers to a source",
    description:
      "The list replaces the one before: who is not in it is unbound, and its running uploads fail at their next step. With an empty list the next that uploads is bound. Needs a fresh second factor.",
    access: changes,
    stepUp: true,
    params: sourceId,
    body: closed(
      {
        writers: Type.Array(closed(writerFields), {
          maxItems: maxWriters,
          uniqueItems: true,
          description: "All writers that the source is to have.",
        }),
      },
      { title: "SourceWriterChange" },
    ),
    ifMatch: "optional",
    replies: { 200: { description: "The writers.", body: writerListSchema } },
  },
  async (ctx, { principal, params, body, language, requireMatch }) => {
    const { accountId, memberId } = principal;
    const writers = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const source = await requireInVault(principal, findSourceById(tx, accountId, params.id));
      await lockSource(tx, source.id);
      const before = await listWriters(tx, source.id);
      requireMatch(writerListShape(before));
      const bound = new Map(before.map(({ kind, writer_id: id }) => [writerName({ kind, id }), { kind, id }]));
      for (const [index, writer] of body.writers.entries()) {
        if (bound.delete(writerName(writer))) continue;
        if (!(await isOfAccount(tx, accountId, writer))) {
          throw new Problem("validation_failed", {
            errors: [invalidField(`/writers/${index}/id`, "not_allowed", language)],
          });
        }
        await bindWriter(tx, source, writer, memberId);
        tx.audit({ action: "source.writer_bound", targets: targetsOf(source.id, writer) });
      }
      for (const writer of bound.values()) {
        await unbindWriter(tx, source.id, writer);
        tx.audit({ action: "source.writer_unbound", targets: targetsOf(source.id, writer) });
      }
      return listWriters(tx, source.id);
    });
    return { status: 200, body: writerListShape(writers) };
  },
);

function targetsOf(source: string, { kind, id }: Writer) {
  return [
    { type: "source", id: source },
    { type: kind === "client" ? "oauth_client" : kind, id },
  ];
}

/** An agent is named by its writer id, which is that of its grant. */
async function isOfAccount(tx: ReadTx, accountId: string, { kind, id }: Writer): Promise<boolean> {
  if (kind === "agent") return isAgentOf(tx, accountId, id);
  if (kind === "client") return (await findClient(tx, accountId, id)) !== undefined;
  const person = await findPerson(tx, accountId, id);
  return person !== undefined && person.state !== "removed";
}

/** A long audit chain, written as the kernel writes it, but thousands of records with one statement. */

import { createHash, randomUUID } from "node:crypto";
import { hashedParts } from "../../packages/server/src/kernel/audit.ts";
import type { MeasuredSetup } from "../api/measured-setup.ts";

/** Some megabytes of JSON. */
const recordsPerInsert = 5_000;

/** One act in so many was refused: a filter must find these among all others. */
const failureEvery = 400;

const columns =
  "chain, account_id, seq, id, occurred_at, action, actor, targets, context, outcome, metadata, prev_hash, hash";

interface AuditFill {
  readonly accountId: string;
  /** Who did it: members and programs of the account. */
  readonly actors: readonly { readonly kind: "member" | "client"; readonly id: string }[];
  readonly records: number;
  readonly from: Date;
  readonly to: Date;
}

const acts = [
  ...["snapshot.completed", "snapshot.created", "session.created", "file.downloaded", "restore.created"],
  ...["snapshot.completed", "webhook.updated", "taxpayer.updated"],
] as const;

/** Goes on from the end of the account's chain. */
export async function fillAudit({ rows }: MeasuredSetup, fill: AuditFill): Promise<void> {
  const { accountId: chain, actors, records, from, to } = fill;
  const heads = await rows<{ seq: string; hash: Buffer }>("select seq, hash from emanet.audit_heads where chain = $1", [
    chain,
  ]);
  const first = Number(heads[0]?.seq ?? 0) + 1;
  let previous: Buffer = heads[0]?.hash ?? Buffer.alloc(32);
  const stepMs = (to.getTime() - from.getTime()) / records;
  for (let at = 0; at < records; at += recordsPerInsert) {
    const lines: unknown[] = [];
    for (let index = at; index < Math.min(records, at + recordsPerInsert); index++) {
      const seq = first + index;
      const actor = actors[index % actors.length] ?? { kind: "member" as const, id: chain };
      const record = {
        ...{ chain, id: randomUUID(), occurred_at: new Date(from.getTime() + index * stepMs).toISOString() },
        ...{ action: acts[index % acts.length] ?? acts[0], actor },
        outcome: index % failureEvery === 0 ? ("failure" as const) : ("success" as const),
        targets: [{ type: "snapshot", id: randomUUID() }],
        context: { request_id: randomUUID(), operation: "snapshots.create", address: "192.0.2.0/24" },
        metadata: { size_bytes: index * 1000 },
      };
      const { before, after } = hashedParts(record);
      const hash = createHash("sha256").update(previous).update(`${before}${seq}${after}`).digest();
      const hashes = { prev_hash: `\\x${previous.toString("hex")}`, hash: `\\x${hash.toString("hex")}` };
      lines.push({ ...record, seq, account_id: chain, ...hashes });
      previous = hash;
    }
    await rows(
      `insert into emanet.audit_records (${columns})
       select ${columns} from jsonb_populate_recordset(null::emanet.audit_records, $1)`,
      [JSON.stringify(lines)],
    );
  }
  await rows(
    `insert into emanet.audit_heads (chain, account_id, seq, hash) values ($1::text, $1::text::uuid, $2, $3)
     on conflict (chain) do update set seq = excluded.seq, hash = excluded.hash`,
    [chain, first + records - 1, previous],
  );
}

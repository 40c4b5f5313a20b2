/**
 * Exports for outside auditors. They have the form of all exports. Records that the share does not show are left out; where that leaves
 * gaps, the selection is `filtered`. Their bytes are made once: there is nothing to resume.
 */

import type { Ctx } from "../kernel/http/endpoint.ts";
import { type ExportContent, exportBytes, gzipped, type MadeContent } from "./export-content.ts";
import { type ExportedRecord, type ExportFormat, formatVersion, type Opening } from "./export-formats.ts";
import { checkpointedPart, identitiesOf, keepCheckpoints, replyHeaders, wantsGzip } from "./exports.ts";
import { type Identities, noIdentities } from "./identities.ts";
import { type Mask, type MaskableParts, maskOf } from "./masking.ts";
import { countRecords, type RecordFilter } from "./record-store.ts";
import type { ShareRow } from "./share-store.ts";
import { accessOfShare, filterOf, readerOf, recordRead, requireLive } from "./shares.ts";

interface SharedExport {
  readonly share: ShareRow;
  readonly format: ExportFormat;
  /** What the request asks for; the share's own filter holds beside it. */
  readonly filter: RecordFilter;
  readonly acceptEncoding: string | undefined;
}

export async function sendSharedExport(ctx: Ctx, { share, format, filter, acceptEncoding }: SharedExport) {
  const chain = share.account_id;
  const filters = [filterOf(share), filter];
  const read = readerOf(ctx, share);
  const time = timeOf(filters);
  const part = await checkpointedPart(ctx, chain, time);
  const { firstSeq, lastSeq } = part;
  const isAll = (await read((tx) => countRecords(tx, chain, part, filters))) === lastSeq - firstSeq + 1;
  const id = ctx.random.uuid();
  const metadata = { format, first_seq: firstSeq, last_seq: lastSeq };
  const targets = [{ type: "audit_export", id }];
  await recordRead(ctx, share, { action: "audit.shared_exported", targets, metadata }, (tx) =>
    keepCheckpoints(tx, chain, part),
  );
  const createdAt = ctx.clock.now();
  const mask = maskOf(ctx.secrets, share);
  const opening: Opening = {
    ...{ format: formatVersion, export_id: id, chain, from: isoOf(time.from), to: isoOf(time.to) },
    ...{ selection: isAll ? "all" : "filtered", masked: !(share.shows_persons && share.shows_paths) },
    ...(!isAll && { filters: filters.map((one) => shownFilter(one, mask)) }),
    ...{ first_seq: firstSeq, last_seq: lastSeq, checkpoint: part.opening.jws },
  };
  const content: ExportContent = {
    ...{ format, opening, closing: part.closing.jws, createdAt, read, filters },
    identities: await identitiesFor(ctx, share),
    mask: maskRecord(mask),
    sign: (made) => signStatement(ctx, opening, { format, createdAt, made }),
  };
  const isGzip = wantsGzip(acceptEncoding);
  const recheck = () => ctx.read(accessOfShare(share), (tx) => requireLive(tx, share));
  return {
    status: 200,
    headers: replyHeaders({ id, format, created_at: createdAt }, isGzip),
    body: {
      length: null,
      chunks: () => (isGzip ? gzipped(exportBytes(content)) : exportBytes(content)),
      holder: { accountId: chain, recheck },
    },
  } as const;
}

function isoOf(time: string | undefined): string | null {
  return time === undefined ? null : new Date(time).toISOString();
}

/** Names of people are read only where they are shown. */
export async function identitiesFor(ctx: Ctx, share: ShareRow): Promise<Identities> {
  return share.shows_persons ? identitiesOf(ctx, ctx.tx, share.account_id) : noIdentities;
}

/** The time that all filters have in common. */
export function timeOf(filters: readonly RecordFilter[]): Pick<RecordFilter, "from" | "to"> {
  const times = (name: "from" | "to") =>
    filters.flatMap((filter) => filter[name] ?? []).sort((a, b) => Date.parse(a) - Date.parse(b));
  const [from, to] = [times("from").at(-1), times("to").at(0)];
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}

/** A filter by a person would say who it is. */
function shownFilter(filter: RecordFilter, mask: Mask): RecordFilter {
  const { actor_id: actorId, target_id: targetId, ...shown } = filter;
  // Neither says of which kind the object is, so both are masked as those of people are.
  const nameOf = (id: string) => mask({ ...nothing, actor: { kind: "member", id } }).actor.id ?? "";
  return {
    ...shown,
    ...(actorId !== undefined && { actor_id: nameOf(actorId) }),
    ...(targetId !== undefined && { target_id: nameOf(targetId) }),
  };
}

const nothing: MaskableParts = { actor: { kind: "system" }, targets: [], context: {}, metadata: {}, person: null };

/** The records of an export have their parts as texts. What is not masked stays as the database wrote it. */
function maskRecord(mask: Mask): (record: ExportedRecord) => ExportedRecord {
  return (record) => {
    const parts = {
      actor: JSON.parse(record.actor) as MaskableParts["actor"],
      targets: JSON.parse(record.targets) as MaskableParts["targets"],
      context: JSON.parse(record.context) as MaskableParts["context"],
      metadata: JSON.parse(record.metadata) as MaskableParts["metadata"],
      person: record.person,
    };
    const { isMasked, person, ...masked } = mask(parts);
    if (!isMasked) return { ...record, person };
    const { actor, targets, context, metadata } = masked;
    return {
      ...record,
      ...{ actor: JSON.stringify(actor), targets: JSON.stringify(targets), context: JSON.stringify(context) },
      ...{ metadata: JSON.stringify(metadata), person, isMasked },
    };
  };
}

async function signStatement(
  ctx: Ctx,
  { export_id, chain, selection, masked, first_seq, last_seq }: Opening,
  { format, createdAt, made }: { readonly format: ExportFormat; readonly createdAt: Date; readonly made: MadeContent },
): Promise<string> {
  const payload = {
    ...{ iss: ctx.publicUrl, export_id, chain, format, selection, masked, first_seq, last_seq },
    ...made,
    made_at: createdAt.toISOString(),
  };
  return ctx.services.receipts.sign({ typ: "emanet-audit-export+jws" }, payload);
}

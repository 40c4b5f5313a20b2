/**
 * Where an upload goes: its vault and its source, found or made, and whether its writer may write there. A vault that the
 * caller may not use is answered like one that does not exist.
 */

import type { Random } from "../kernel/clock.ts";
import { invalidField } from "../kernel/http/validate.ts";
import type { Principal } from "../kernel/principal.ts";
import { type Language, Problem } from "../kernel/problems.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import {
  bindWriter,
  countSources,
  findSourceById,
  findSourceByName,
  insertSource,
  listWriters,
  lockSource,
  type SourceRow,
} from "./source-store.ts";
import { allowedVaults, isVaultAllowed } from "./vault-restriction.ts";
import {
  findDefaultVault,
  findVault,
  findVaultOfTaxId,
  findVaultOfTaxpayer,
  lockVault,
  type VaultRow,
} from "./vault-store.ts";
import { type Writer, writerOf } from "./writers.ts";

/** What a request says about its target. */
export interface UploadTarget {
  /** The id of a source, or a name in the vault. */
  readonly source: string;
  readonly vaultId?: string | undefined;
  readonly taxpayerId?: string | undefined;
  /** The tax number of a taxpayer. */
  readonly taxId?: string | undefined;
}

export interface TargetCaller {
  readonly principal: Extract<Principal, { accountId: string }>;
  readonly language: Language;
  readonly random: Random;
  /** Where the request has its members: in the query, or in the body. */
  readonly place: "" | "/query";
  /** In whose name it writes; that of the principal unless given. */
  readonly writer?: Writer | undefined;
}

export interface ResolvedTarget {
  readonly vault: VaultRow;
  readonly source: SourceRow;
  readonly sourceCreated: boolean;
  readonly writer: Writer;
}

/** More than any office has; each has its line in lists and its light. */
export const maxSourcesPerVault = 1000;

const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a text names a source by its id. No source has such a name. */
export function isSourceId(text: string): boolean {
  return uuidForm.test(text);
}

/** One spelling for names that look the same. */
export function canonicalName(name: string): string {
  return name.normalize("NFC");
}

/**
 * Refuses what {@link resolveTarget} would refuse at this moment, and makes nothing: for uploads whose first byte may never
 * come. Returns the vault.
 */
export async function checkTarget(tx: ReadTx, caller: TargetCaller, target: UploadTarget): Promise<VaultRow> {
  const { vault, source } = await findTarget(tx, caller, target);
  if (source === undefined) {
    await refuseSourceTooMany(tx, vault.id);
    return vault;
  }
  const writers = await listWriters(tx, source.id);
  if (writers.length > 0 && !isBound(writers, caller.writer ?? writerOf(caller.principal)))
    throw new Problem("writer_not_bound");
  return vault;
}

/**
 * Finds the vault and the source of an upload. A source with an unknown name is made, and its writer bound to it. Throws
 * `validation_failed` for ids that do not exist or do not agree, `writer_not_bound` for a source of other writers.
 */
export async function resolveTarget(tx: Tx, caller: TargetCaller, target: UploadTarget): Promise<ResolvedTarget> {
  const writer = caller.writer ?? writerOf(caller.principal);
  const { vault, source } = await findTarget(tx, caller, target);
  if (source !== undefined) {
    await requireWriter(tx, source, writer);
    return { vault, source, sourceCreated: false, writer };
  }
  const { source: made, isNew } = await makeSource(tx, caller.random, vault, {
    name: canonicalName(target.source),
    kind: "files",
    expectedEverySeconds: null,
  });
  await requireWriter(tx, made, writer);
  return { vault, source: made, sourceCreated: isNew, writer };
}

/** The source that a filter of a list names, by id or name, where the caller may see it. */
export async function findSource(
  tx: ReadTx,
  principal: Extract<Principal, { accountId: string }>,
  { source, vaultId }: Pick<UploadTarget, "source" | "vaultId">,
): Promise<SourceRow | undefined> {
  const { accountId } = principal;
  const vault = vaultId ?? (await findDefaultVault(tx, accountId))?.id;
  const found = isSourceId(source)
    ? await findSourceById(tx, accountId, source.toLowerCase())
    : vault && (await findSourceByName(tx, { accountId, vaultId: vault, name: canonicalName(source) }));
  if (!found || (vaultId !== undefined && found.vault_id !== vaultId)) return undefined;
  return isVaultAllowed(principal, found.vault_id) ? found : undefined;
}

/**
 * Refuses a writer that is not bound to the source. The first writer of a source is bound by this; the lock of the source
 * makes one of several at once the first.
 */
export async function requireWriter(tx: Tx, source: SourceRow, writer: Writer): Promise<void> {
  const writers = await listWriters(tx, source.id);
  if (isBound(writers, writer)) return;
  if (writers.length > 0) throw new Problem("writer_not_bound");
  await lockSource(tx, source.id);
  const now = await listWriters(tx, source.id);
  if (isBound(now, writer)) return;
  if (now.length > 0) throw new Problem("writer_not_bound");
  await bindWriter(tx, source, writer, null);
}

function isBound(rows: readonly { readonly kind: string; readonly writer_id: string }[], writer: Writer): boolean {
  return rows.some((row) => row.kind === writer.kind && row.writer_id === writer.id);
}

async function refuseSourceTooMany(tx: ReadTx, vaultId: string): Promise<void> {
  if ((await countSources(tx, vaultId)) >= maxSourcesPerVault) throw new Problem("quota_exceeded");
}

/** Makes a source, or returns the one that has the name. The lock of the vault makes names unique over both tables. */
export async function makeSource(
  tx: Tx,
  random: Random,
  vault: VaultRow,
  wanted: { readonly name: string; readonly kind: SourceRow["kind"]; readonly expectedEverySeconds: number | null },
): Promise<{ readonly source: SourceRow; readonly isNew: boolean }> {
  const { id: vaultId, account_id: accountId } = vault;
  await lockVault(tx, accountId, vaultId);
  const known = await findSourceByName(tx, { accountId, vaultId, name: wanted.name });
  if (known !== undefined) return { source: known, isNew: false };
  await refuseSourceTooMany(tx, vaultId);
  const id = random.uuid();
  await insertSource(tx, { id, accountId, vaultId, ...wanted });
  const targets = [
    { type: "source", id },
    { type: "vault", id: vaultId },
  ];
  tx.audit({ action: "source.created", targets });
  const source = await findSourceById(tx, accountId, id);
  if (source === undefined) throw new Error("a source that was just made is gone");
  return { source, isNew: true };
}

/** The vault that a request names, else the default one. */
export async function targetVault(
  tx: ReadTx,
  caller: TargetCaller,
  target: Pick<UploadTarget, "vaultId" | "taxpayerId" | "taxId">,
): Promise<VaultRow> {
  return (await namedVault(tx, caller, target)) ?? defaultVault(tx, caller);
}

async function findTarget(
  tx: ReadTx,
  caller: TargetCaller,
  target: UploadTarget,
): Promise<{ readonly vault: VaultRow; readonly source: SourceRow | undefined }> {
  const { accountId } = caller.principal;
  const named = await namedVault(tx, caller, target);
  if (!isSourceId(target.source)) {
    const vault = named ?? (await defaultVault(tx, caller));
    const name = canonicalName(target.source);
    return { vault, source: await findSourceByName(tx, { accountId, vaultId: vault.id, name }) };
  }
  const source = await findSourceById(tx, accountId, target.source.toLowerCase());
  const isUsable = source !== undefined && isVaultAllowed(caller.principal, source.vault_id);
  if (!isUsable || (named !== null && source.vault_id !== named.id)) throw wrong(caller, "source");
  const vault = named ?? (await findVault(tx, accountId, source.vault_id));
  if (vault === undefined) throw new Error("a source without its vault");
  return { vault, source };
}

/** The vault that the request names, by its id or by its taxpayer; null when it names none. */
async function namedVault(
  tx: ReadTx,
  caller: TargetCaller,
  target: Pick<UploadTarget, "vaultId" | "taxpayerId" | "taxId">,
): Promise<VaultRow | null> {
  const { vaultId, taxpayerId, taxId } = target;
  const { principal } = caller;
  const usable = (vault: VaultRow | undefined, member: "vault_id" | "taxpayer_id" | "tax_id") => {
    if (vault === undefined || !isVaultAllowed(principal, vault.id)) throw wrong(caller, member);
    return vault;
  };
  const byId = vaultId && usable(await findVault(tx, principal.accountId, vaultId), "vault_id");
  const byTaxpayer =
    taxpayerId && usable(await findVaultOfTaxpayer(tx, principal.accountId, taxpayerId), "taxpayer_id");
  if (byId && byTaxpayer && byId.id !== byTaxpayer.id) throw wrong(caller, "taxpayer_id");
  const byTaxId = taxId && usable(await findVaultOfTaxId(tx, principal.accountId, taxId), "tax_id");
  const named = byId || byTaxpayer || null;
  if (byTaxId && named !== null && named.id !== byTaxId.id) throw wrong(caller, "tax_id");
  return named ?? (byTaxId || null);
}

async function defaultVault(tx: ReadTx, caller: TargetCaller): Promise<VaultRow> {
  const vault = await findDefaultVault(tx, caller.principal.accountId);
  if (vault === undefined) throw new Error("an account without its default vault");
  if (isVaultAllowed(caller.principal, vault.id)) return vault;
  // A client that is held to one other vault means that one.
  const [only, ...others] = allowedVaults(caller.principal) ?? [];
  const meant = only && others.length === 0 ? await findVault(tx, caller.principal.accountId, only) : undefined;
  if (meant === undefined) throw wrong(caller, "vault_id", "required");
  return meant;
}

function wrong(
  { place, language }: TargetCaller,
  member: "source" | "vault_id" | "taxpayer_id" | "tax_id",
  code: "not_allowed" | "required" = "not_allowed",
): Problem {
  return new Problem("validation_failed", { errors: [invalidField(`${place}/${member}`, code, language)] });
}

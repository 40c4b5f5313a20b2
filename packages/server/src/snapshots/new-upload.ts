/** A new snapshot: where it goes, what may refuse it before anything arrives, and its row. */

import { agentOfWriter } from "../agents/index.ts";
import type { ArchiveEncoding } from "../archives/index.ts";
import type { Random } from "../kernel/clock.ts";
import type { Upload } from "../kernel/http/upload.ts";
import type { Principal } from "../kernel/principal.ts";
import { type Language, Problem } from "../kernel/problems.ts";
import type { ReadTx, Tx, TxContext } from "../kernel/tx.ts";
import { assertQuotaLeft, checkTarget, type ResolvedTarget, resolveTarget, writerOf } from "../vaults/index.ts";
import { maxOpenUploads, type Trigger } from "./rules.ts";
import { countOpenUploads, lockOpenUploads, type NewSnapshot, newestCompleted } from "./store.ts";

/** What a client says about a new snapshot, in the query or in a JSON body. */
export interface NewUpload {
  readonly source: string;
  readonly label?: string | undefined;
  readonly vault_id?: string | undefined;
  readonly taxpayer_id?: string | undefined;
  readonly tax_id?: string | undefined;
  readonly trigger?: Trigger | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly external_reference?: string | undefined;
}

export interface AccountCaller {
  readonly principal: Extract<Principal, { accountId: string }>;
  readonly language: Language;
}

/** What the body is. */
export type UploadBody =
  | { readonly kind: "tar"; readonly encoding: ArchiveEncoding | null }
  | { readonly kind: "zip"; readonly encoding: ArchiveEncoding | null }
  /** Without a time it has the time of receipt. */
  | { readonly kind: "file"; readonly path: Buffer; readonly mode: number; readonly mtimeMs: number | null };

export interface OneCall extends AccountCaller {
  readonly wanted: NewUpload;
  readonly upload: Upload;
  readonly body: UploadBody;
  /** The SHA-256 that the body must have, of `Content-Digest`; null: unknown. */
  readonly digest: Buffer | null;
}

/** An upload whose first byte has come. */
export interface StartedUpload extends OneCall {
  readonly id: string;
  readonly target: ResolvedTarget;
  readonly parentId: string | null;
  readonly trigger: Trigger;
  readonly chunks: AsyncIterable<Buffer>;
  /** For steps that go on when the client has left. */
  readonly context: TxContext;
}

/** Whether the caller may learn what others have stored. A client with `snapshots:write` alone may not. */
export function seesStorage({ scopes }: AccountCaller["principal"]): boolean {
  return scopes.has("snapshots:read");
}

type Wanted = AccountCaller & { readonly wanted: NewUpload };

/**
 * Refuses what can be refused before the first byte: a writer that is not bound, an agent that may not write to the vault, a vault
 * whose quota is used up, too many open uploads. Makes nothing.
 */
export async function checkUpload(tx: ReadTx, random: Random, caller: Wanted): Promise<void> {
  const vault = await checkTarget(tx, { ...caller, random, place: "/query" }, targetOf(caller));
  await requireAgentVault(tx, caller.principal, vault.id);
  assertQuotaLeft(vault);
  await refuseTooMany(tx, caller);
}

/** Finds or makes the source of an upload that begins. Refuses the same, in the transaction that adds its row. */
export async function openTarget(
  tx: Tx,
  random: Random,
  caller: Wanted,
  place: "" | "/query",
): Promise<ResolvedTarget> {
  // Together, but each statement sees what was committed when it begins: the count is of after the lock.
  await Promise.all([lockOpenUploads(tx, caller.principal.accountId), refuseTooMany(tx, caller)]);
  const target = await resolveTarget(tx, { ...caller, random, place }, targetOf(caller));
  await requireAgentVault(tx, caller.principal, target.vault.id);
  assertQuotaLeft(target.vault);
  return target;
}

function targetOf({ wanted }: Wanted) {
  return { source: wanted.source, vaultId: wanted.vault_id, taxpayerId: wanted.taxpayer_id, taxId: wanted.tax_id };
}

/** An agent writes to its own vaults only, also in one call and file by file. */
export async function requireAgentVault(
  tx: ReadTx,
  principal: AccountCaller["principal"],
  vaultId: string,
): Promise<void> {
  const writer = writerOf(principal);
  if (writer.kind !== "agent") return;
  const agent = await agentOfWriter(tx, principal.accountId, writer);
  if (agent !== undefined && !agent.vault_ids.includes(vaultId)) throw new Problem("agent_required");
}

async function refuseTooMany(tx: ReadTx, { principal }: AccountCaller): Promise<void> {
  if ((await countOpenUploads(tx, principal.accountId)) >= maxOpenUploads) throw new Problem("quota_exceeded");
}

/** The row of a new snapshot. Its parent is the newest completed one of the source. */
export async function newRow(
  tx: ReadTx,
  { principal, wanted }: Wanted,
  target: ResolvedTarget,
  more: { readonly id: string; readonly upload_kind: NewSnapshot["upload_kind"] },
) {
  const { writer, source, vault } = target;
  return {
    ...more,
    account_id: principal.accountId,
    vault_id: vault.id,
    source_id: source.id,
    label: wanted.label ?? null,
    // A person with a browser starts it by hand; everything else is a program.
    trigger: wanted.trigger ?? (principal.kind === "member" ? "manual" : "api"),
    external_reference: wanted.external_reference ?? null,
    metadata: wanted.metadata ?? {},
    created_by_kind: writer.kind,
    created_by_id: writer.id,
    is_write_only: !seesStorage(principal),
    parent_id: await newestCompleted(tx, source.id),
  } as const;
}

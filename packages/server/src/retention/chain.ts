/**
 * What the signed chain of a vault has of retention, beside holds and locks: policies, acts that wait, suspicious snapshots. Each is the
 * newest record of a scope; empty: there is none any more. The text of a record is JSON.
 */

import { readPolicies, recordPolicy, type Vault } from "@emanet/engine";
import { noPolicy, type Policy, policyFields } from "./rules.ts";

export const actKinds = [
  "policy_change",
  "hold_release",
  "acceptance",
  "source_deletion",
  "taxpayer_deletion",
  "vault_deletion",
  "account_closing",
] as const;
export type ActKind = (typeof actKinds)[number];

const deletionKinds: readonly ActKind[] = ["source_deletion", "taxpayer_deletion", "vault_deletion"];

export function isDeletion(kind: ActKind): boolean {
  return deletionKinds.includes(kind);
}

/** An act as the chain has it. */
export interface ChainAct {
  readonly kind: ActKind;
  readonly source: string | null;
  readonly snapshot: string | null;
  readonly policy: Policy | null;
  /** Milliseconds since 1970. */
  readonly due: number;
  /** The member who started it. Acts of before this field have none. */
  readonly by?: string;
  /** It was carried out: rows that lack it follow, and nobody cancels it any more. A deletion is in force by this alone. */
  readonly done?: true;
  /** Of a closing that was carried out: the end of the time in which the account is read. Milliseconds since 1970. */
  readonly until?: number;
  /** Of the same: the vaults that the account had. */
  readonly vaults?: readonly string[];
}

/** What people said about a hold. Times are milliseconds since 1970. */
export interface ChainHold {
  readonly reason: string;
  readonly review: number | null;
  readonly by: string;
  readonly at: number;
}

export interface ChainRetention {
  /** Of the vault, and of sources by their id. */
  readonly vaultPolicy: Policy;
  readonly sourcePolicies: ReadonlyMap<string, Policy>;
  readonly acts: ReadonlyMap<string, ChainAct>;
  /** Ids of snapshots that nobody has accepted. */
  readonly suspicious: ReadonlySet<string>;
  /** Why snapshots are held, by their id. Whether they are held is in the chain's retention of each. */
  readonly holds: ReadonlyMap<string, ChainHold>;
  /** Ids of sources that were deleted. */
  readonly deletedSources: ReadonlySet<string>;
  /** The vault was deleted, with all its sources. */
  readonly isVaultDeleted: boolean;
}

const scopes = {
  vault: "vault",
  source: (id: string) => `source ${id}`,
  act: (id: string) => `act ${id}`,
  suspicious: (snapshot: string) => `suspicious ${snapshot}`,
  hold: (snapshot: string) => `hold ${snapshot}`,
};

export async function readChainRetention(vault: Vault): Promise<ChainRetention> {
  const sourcePolicies = new Map<string, Policy>();
  const acts = new Map<string, ChainAct>();
  const suspicious = new Set<string>();
  const holds = new Map<string, ChainHold>();
  let vaultPolicy = noPolicy;
  for (const [scope, bytes] of await readPolicies(vault)) {
    if (bytes.length === 0) continue;
    const [kind, id = ""] = scope.split(" ");
    const value = JSON.parse(Buffer.from(bytes).toString()) as unknown;
    if (kind === "vault") vaultPolicy = policyOf(value);
    if (kind === "source") sourcePolicies.set(id, policyOf(value));
    if (kind === "act") acts.set(id, value as ChainAct);
    if (kind === "suspicious") suspicious.add(id);
    if (kind === "hold") holds.set(id, value as ChainHold);
  }
  const deletions = [...acts.values()].filter(({ kind, done }) => done === true && isDeletion(kind));
  return {
    ...{ vaultPolicy, sourcePolicies, acts, suspicious, holds },
    deletedSources: new Set(deletions.flatMap(({ source }) => source ?? [])),
    isVaultDeleted: deletions.some(({ kind }) => kind !== "source_deletion"),
  };
}

/** A policy from JSON or a row: fields that it does not have are null. */
export function policyOf(value: unknown): Policy {
  const given = value as Partial<Policy>;
  return Object.fromEntries(policyFields.map((field) => [field, given[field] ?? null])) as Policy;
}

export function isSamePolicy(a: Policy, b: Policy): boolean {
  return policyFields.every((field) => a[field] === b[field]);
}

/** `source` null: of the vault. */
export async function recordRetentionPolicy(vault: Vault, source: string | null, policy: Policy, by: string) {
  await record(vault, source === null ? scopes.vault : scopes.source(source), policy, by);
}

/** Null: the act has ended. */
export async function recordAct(vault: Vault, id: string, act: ChainAct | null, by: string): Promise<void> {
  await record(vault, scopes.act(id), act, by);
}

export async function recordSuspicion(vault: Vault, snapshot: string, isOpen: boolean, by: string): Promise<void> {
  await record(vault, scopes.suspicious(snapshot), isOpen ? {} : null, by);
}

/** The words of the newest hold. They stay after its release: the chain's retention says whether it is held. */
export async function recordHold(vault: Vault, snapshot: string, hold: ChainHold): Promise<void> {
  await record(vault, scopes.hold(snapshot), hold, hold.by);
}

async function record(vault: Vault, scope: string, value: object | null, by: string): Promise<void> {
  await recordPolicy(vault, scope, Buffer.from(value === null ? "" : JSON.stringify(value)), by);
}

/** What the operations on agents share: who may call them, and what is checked. */

import { verifySignature } from "@emanet/engine";
import { requireFreshPerson } from "../kernel/http/access.ts";
import { closed, uuid } from "../kernel/http/schema.ts";
import { isAgent, type Principal } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";
import { type Writer, writerOf } from "../vaults/index.ts";

export type AccountPrincipal = Extract<Principal, { accountId: string }>;

export const shared = { tag: "agents", withinVaults: true } as const;
export const reads = { kind: "account", scope: "snapshots:read" } as const;
export const writes = { kind: "account", scope: "snapshots:write" } as const;
export const agentId = closed({ id: uuid("Id of the agent.") });

/** More than an office has machines; each has its line in the list. */
export const maxAgents = 500;

/** An office has a vault per taxpayer, some hundreds. Each takes a signature and an open vault when it is added. */
export const maxAgentVaults = 1000;

/** An agent says that it lives at least every ten minutes while it uploads. */
export const onlineMs = 15 * 60 * 1000;

/** `last_seen_at` is written at most this often. */
export const seenPrecisionMs = 60_000;

/** People who make, change and revoke agents: managers and owners with a fresh second factor. Others are refused. */
export function requireManager(principal: AccountPrincipal, now: Date): Extract<Principal, { kind: "member" }> {
  if (principal.kind !== "member") throw new Problem("insufficient_scope");
  if (principal.role !== "owner" && principal.role !== "manager") throw new Problem("insufficient_role");
  requireFreshPerson(principal, now);
  return principal;
}

/**
 * The writer of a program that registers itself; null for people. A device grant and a client that acts for nobody do. A program that
 * acts for a member by another grant does not: its right ends with the member's.
 */
export function ownWriter(principal: AccountPrincipal): Writer | null {
  if (principal.kind === "member") return null;
  if (!isAgent(principal) && principal.memberId !== null) throw new Problem("insufficient_scope");
  return writerOf(principal);
}

/** Whether the holder of the private key asks for this registration: the signature names account, writer and key. */
export function isSignedByKey(
  { accountId, writer, publicKey }: { accountId: string; writer: Writer; publicKey: Uint8Array },
  signature: Uint8Array,
): boolean {
  try {
    return verifySignature(publicKey, "agent", registrationText(accountId, writer, publicKey), signature);
  } catch {
    // Not every 32 bytes are a public key.
    return false;
  }
}

/** What an agent signs: 16 bytes of the account, 16 of its session or client, its public key. */
export function registrationText(accountId: string, writer: Writer, publicKey: Uint8Array): Buffer {
  return Buffer.concat([uuidBytes(accountId), uuidBytes(writer.id), publicKey]);
}

function uuidBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll("-", ""), "hex");
}

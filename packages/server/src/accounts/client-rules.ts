/** What the operations on an account's programs share. */

import { memberRoles, oauthScopes } from "../declarations.ts";
import { closed, Type, uuid } from "../kernel/http/schema.ts";
import { invalidField } from "../kernel/http/validate.ts";
import type { MemberRole, OauthScope, Principal } from "../kernel/principal.ts";
import { type Language, Problem } from "../kernel/problems.ts";
import type { ReadTx } from "../kernel/tx.ts";
import { type ClientRow, liveVaults } from "./client-store.ts";

export const shared = { tag: "oauth-clients", package: "api" } as const;
export const reads = { kind: "account", scope: "account:read", roles: ["owner", "manager"] } as const;
export const writes = { kind: "account", scope: "account:write" } as const;
export const clientId = closed({ id: uuid("The `client_id`.") });
export const secretText = Type.String({
  maxLength: 60,
  pattern: "^ems_[A-Za-z0-9_-]{43}$",
  description: "Shown only in this answer. Keep it where only the client can read it.",
  examples: [`ems_${"x".repeat(43)}`],
});

type Member = Extract<Principal, { kind: "member" }>;

/** A client gets no wider role than the person who creates or changes it, and no scope that the person's role lacks. */
export function requireWithin(
  member: Member,
  { role, scopes = [] }: { readonly role?: MemberRole; readonly scopes?: readonly OauthScope[] },
): void {
  const has = scopes.every((scope) => member.scopes.has(scope) && oauthScopes[scope].roles.includes(member.role));
  if (!has || (role !== undefined && isWider(role, member.role))) throw new Problem("insufficient_role");
}

/** A client is held to vaults of the account. One of another account is refused like one that does not exist. */
export async function requireVaults(
  tx: ReadTx,
  { accountId, language }: { readonly accountId: string; readonly language: Language },
  ids: readonly string[] | null | undefined,
): Promise<void> {
  if (ids == null || ids.length === 0) return;
  const live = await liveVaults(tx, accountId, ids);
  const errors = ids.flatMap((id, at) =>
    live.has(id.toLowerCase()) ? [] : [invalidField(`/vault_ids/${at}`, "not_allowed", language)],
  );
  if (errors.length > 0) throw new Problem("validation_failed", { errors });
}

/** A client with a wider role is not theirs to change: with its secret they would have that role. */
export function requireRankOver(member: Member, client: ClientRow): void {
  if (client.role === null || isWider(client.role, member.role)) throw new Problem("insufficient_role");
}

/** The narrowest role that may use all of these scopes; never `owner`, which has to be asked for. */
export function leastRole(scopes: readonly OauthScope[]): MemberRole {
  const narrowestFirst = memberRoles.filter((role) => role !== "owner").toReversed();
  return narrowestFirst.find((role) => scopes.every((scope) => oauthScopes[scope].roles.includes(role))) ?? "manager";
}

function isWider(role: MemberRole, than: MemberRole): boolean {
  return memberRoles.indexOf(role) < memberRoles.indexOf(than);
}

export async function requireClient(found: Promise<ClientRow | undefined>): Promise<ClientRow> {
  const row = await found;
  if (row === undefined) throw new Problem("not_found");
  return row;
}

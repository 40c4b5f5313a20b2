/**
 * OAuth clients of an account, and the service's own: all their SQL, and the check of a secret.
 *
 * A *secret* has 256 random bits, so storing a keyed hash is enough. Several secrets are valid during a rotation: the
 * older ones get an expiry and do not end at once.
 */

import { timingSafeEqual } from "node:crypto";
import { type Selectable, sql } from "kysely";
import type { Random } from "../kernel/clock.ts";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { OauthClientsRow } from "../kernel/database/rows.generated.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import type { MemberRole } from "../kernel/principal.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";

export type ClientRow = Selectable<OauthClientsRow>;

/** 256 bits cannot be guessed. */
const secretBytes = 32;

/** Two for a rotation and one more for wrong clocks; more secrets would be unused. */
export const maxLiveSecrets = 3;

/** Written at most this often: a busy client must not cause an update per token. */
const lastUsedPrecisionMs = 60_000;

/** A client that may be used now: not revoked, and its account, if it has one, not closed. */
export async function findClientById(ctx: Pick<Ctx, "tx">, clientId: string): Promise<ClientRow | undefined> {
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(clientId)) return undefined;
  return ctx.tx({ kind: "system" }, (tx) =>
    tx.db
      .selectFrom("oauth_clients")
      .leftJoin("accounts", "accounts.id", "oauth_clients.account_id")
      .selectAll("oauth_clients")
      .where("oauth_clients.id", "=", clientId)
      .where("oauth_clients.revoked_at", "is", null)
      .where((where) => where.or([where("accounts.id", "is", null), where("accounts.state", "<>", "closed")]))
      .executeTakeFirst(),
  );
}

/** Whether this is a valid secret of the client. Takes the same time in all cases. Records the use. */
export async function verifyClientSecret(
  ctx: Pick<Ctx, "tx" | "secrets">,
  clientId: string,
  secret: string,
): Promise<boolean> {
  const hash = secretHash(ctx.secrets, secret);
  return ctx.tx({ kind: "system" }, async (tx) => {
    const rows = await tx.db
      .selectFrom("oauth_client_secrets")
      .select("secret_hash")
      .where("client_id", "=", clientId)
      .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", tx.now)]))
      .limit(maxLiveSecrets)
      .execute();
    let matches = 0;
    for (let at = 0; at < maxLiveSecrets; at++) {
      const known = rows[at]?.secret_hash ?? Buffer.alloc(hash.length);
      matches += timingSafeEqual(known, hash) ? 1 : 0;
    }
    if (matches > 0) await touchClient(tx, clientId);
    return matches > 0;
  });
}

/** Records that a client was used now. */
export async function touchClient(tx: Tx, clientId: string): Promise<void> {
  await tx.db
    .updateTable("oauth_clients")
    .set({ last_used_at: tx.now })
    .where("id", "=", clientId)
    .where((where) =>
      where.or([
        where("last_used_at", "is", null),
        where("last_used_at", "<", new Date(tx.now.getTime() - lastUsedPrecisionMs)),
      ]),
    )
    .execute();
}

export interface NewClient {
  readonly id: string;
  readonly accountId: string | null;
  readonly kind: ClientRow["kind"];
  readonly name: string;
  readonly authMethod: ClientRow["auth_method"];
  readonly grantTypes: readonly string[];
  readonly redirectUris: readonly string[];
  readonly scopes: readonly string[];
  readonly vaultIds: readonly string[] | null;
  readonly jwks: object | null;
  /** The role that limits it; null for the service's own client. */
  readonly role: MemberRole | null;
  /** The member who creates it and is responsible for it. */
  readonly createdBy: string | null;
}

export async function insertClient(tx: Tx, client: NewClient): Promise<void> {
  await tx.db
    .insertInto("oauth_clients")
    .values({
      id: client.id,
      account_id: client.accountId,
      kind: client.kind,
      name: client.name,
      auth_method: client.authMethod,
      grant_types: [...client.grantTypes],
      redirect_uris: [...client.redirectUris],
      scopes: [...client.scopes],
      vault_ids: client.vaultIds === null ? null : [...client.vaultIds],
      jwks: client.jwks === null ? null : JSON.stringify(client.jwks),
      role: client.role,
      created_by: client.createdBy,
      responsible_id: client.createdBy,
      created_at: tx.now,
      updated_at: tx.now,
    })
    .execute();
}

export async function findClient(tx: ReadTx, accountId: string, id: string): Promise<ClientRow | undefined> {
  return clients(tx, accountId).where("id", "=", id).executeTakeFirst();
}

export async function lockClient(tx: Tx, accountId: string, id: string): Promise<ClientRow | undefined> {
  return clients(tx, accountId).where("id", "=", id).forUpdate().executeTakeFirst();
}

export async function listClients(tx: ReadTx, accountId: string, page: PageStart): Promise<ClientRow[]> {
  return pageRows(clients(tx, accountId), page);
}

export async function updateClient(
  tx: Tx,
  accountId: string,
  id: string,
  change: {
    readonly name?: string;
    readonly scopes?: readonly string[];
    readonly vault_ids?: readonly string[] | null;
    readonly role?: MemberRole;
  },
): Promise<void> {
  await tx.db
    .updateTable("oauth_clients")
    .set({ ...change, updated_at: tx.now, version: sql`version + 1` })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .execute();
}

/** Those of these ids that are vaults of the account and not deleted. */
export async function liveVaults(tx: ReadTx, accountId: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await tx.db
    .selectFrom("vaults")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", sql<string>`any (${[...ids]}::uuid[])`)
    .where("deleted_at", "is", null)
    .execute();
  return new Set(rows.map(({ id }) => id));
}

/** Puts clients in review for which a member is responsible or whose secret they know. Returns those that were not before. */
export async function withholdClients(tx: Tx, accountId: string, memberId: string): Promise<{ id: string }[]> {
  return (
    tx.db
      .updateTable("oauth_clients")
      .set({ review_since: tx.now, updated_at: tx.now, version: sql`version + 1` })
      .where("account_id", "=", accountId)
      // The responsible member, or a member who has seen a secret that may still be valid.
      .where((where) =>
        where.or([
          where("responsible_id", "=", memberId),
          where.exists(
            where
              .selectFrom("oauth_client_secrets")
              .select("id")
              .whereRef("client_id", "=", "oauth_clients.id")
              .where("created_by", "=", memberId),
          ),
        ]),
      )
      .where("revoked_at", "is", null)
      .where("review_since", "is", null)
      .returning("id")
      .execute()
  );
}

/** Makes this member responsible for the client and ends the review. */
export async function reviewClient(tx: Tx, accountId: string, id: string, memberId: string): Promise<void> {
  await tx.db
    .updateTable("oauth_clients")
    .set({ responsible_id: memberId, review_since: null, updated_at: tx.now, version: sql`version + 1` })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .execute();
}

/** Ends a client: deletes its secrets and ends its sessions, so its tokens stop at once. */
export async function revokeClient(tx: Tx, accountId: string, id: string): Promise<void> {
  await tx.db
    .updateTable("oauth_clients")
    .set({ revoked_at: tx.now, updated_at: tx.now, version: sql`version + 1` })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .execute();
  await tx.db.deleteFrom("oauth_client_secrets").where("client_id", "=", id).execute();
}

export interface NewSecret {
  /** The client's. */
  readonly id: string;
  readonly accountId: string | null;
  /** The member who sees the secret. */
  readonly shownTo: string | null;
}

/** Creates a secret and returns it; it cannot be read again. */
export async function addSecret(
  tx: Tx,
  sources: { readonly secrets: Secrets; readonly random: Random },
  client: NewSecret,
): Promise<string> {
  const secret = `ems_${sources.random.bytes(secretBytes).toString("base64url")}`;
  await storeSecret(tx, sources, client, secret);
  return secret;
}

export async function storeSecret(
  tx: Tx,
  { secrets, random }: { readonly secrets: Secrets; readonly random: Random },
  client: NewSecret,
  secret: string,
): Promise<void> {
  await tx.db
    .insertInto("oauth_client_secrets")
    .values({
      id: random.uuid(),
      client_id: client.id,
      account_id: client.accountId,
      created_by: client.shownTo,
      secret_hash: secretHash(secrets, secret),
      created_at: tx.now,
    })
    .execute();
}

/** Sets an expiry for every valid secret; an earlier expiry stays. */
export async function endSecrets(tx: Tx, clientId: string, at: Date): Promise<void> {
  await tx.db
    .deleteFrom("oauth_client_secrets")
    .where("client_id", "=", clientId)
    .where("expires_at", "<=", tx.now)
    .execute();
  await tx.db
    .updateTable("oauth_client_secrets")
    .set({ expires_at: sql<Date>`least(expires_at, ${at})` })
    .where("client_id", "=", clientId)
    .execute();
}

export async function countLiveSecrets(tx: ReadTx, clientId: string): Promise<number> {
  const { count } = await tx.db
    .selectFrom("oauth_client_secrets")
    .select((call) => call.fn.countAll<number>().as("count"))
    .where("client_id", "=", clientId)
    .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", tx.now)]))
    .executeTakeFirstOrThrow();
  return Number(count);
}

function clients(tx: ReadTx, accountId: string) {
  return tx.db
    .selectFrom("oauth_clients")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("revoked_at", "is", null);
}

function secretHash(secrets: Secrets, secret: string): Buffer {
  return secrets.digest("client-secret", secret);
}

/**
 * Programs that a person answers for: OAuth clients that they made, and *grants* (what they allowed a client to do for
 * them, which is a session with a client). They belong to the account, so they outlive the person's right to answer.
 *
 * A program in words: *answered for* → (its person is removed or demoted, or a password or factor is replaced)
 * *in review*: it writes snapshots and does nothing else → (an owner reviews it) answered for by that owner, or ended.
 * A grant without `snapshots:write` has nothing left in review and ends at once.
 */

import { type Selectable, sql } from "kysely";
import { lockOwners, type PersonRow, withholdClients } from "../accounts/index.ts";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { OauthClientsRow, SessionsRow } from "../kernel/database/rows.generated.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import type { Tx } from "../kernel/tx.ts";
import { mailMessage, sendMessage } from "../messages/index.ts";
import { scopesInReview } from "./authenticator.ts";
import { type EndReason, revokeSessionsOf } from "./sessions.ts";

/** What puts the clients that a person made in review, beside what they allowed; see the contract of the API. */
const concernsClients: ReadonlySet<EndReason> = new Set(["removed", "demoted", "password_reset"]);

/** Ends a person's sign-ins, but for one that they keep, and puts their programs in review. */
export async function endAccessOf(
  tx: Tx,
  ctx: Pick<Ctx, "random">,
  person: PersonRow,
  reason: EndReason,
  keep: string | null = null,
): Promise<void> {
  await revokeSessionsOf(tx, person.id, reason, keep);
  await withholdPrograms(tx, ctx, person, reason);
}

/** Puts a person's programs in review, and asks the owners to review them. */
export async function withholdPrograms(
  tx: Tx,
  ctx: Pick<Ctx, "random">,
  person: PersonRow,
  reason: EndReason,
): Promise<void> {
  const { account_id: accountId } = person;
  // Staff make and allow no programs.
  if (accountId === null) return;
  const clients = concernsClients.has(reason) ? await withholdClients(tx, accountId, person.id) : [];
  const grants = await withholdGrants(tx, accountId, person.id, reason);
  if (clients.length + grants.length === 0) return;
  const targets = [
    ...clients.map(({ id }) => ({ type: "oauth_client", id })),
    ...grants.map(({ id }) => ({ type: "session", id })),
  ];
  tx.audit({ action: "programs.review_asked", targets: targets.slice(0, maxTargets), metadata: { reason } });
  const values = { member: person.full_name, count: String(targets.length) };
  for (const { id, email: to, language } of await lockOwners(tx, accountId)) {
    if (id === person.id && reason === "removed") continue;
    const mail = mailMessage({ id: ctx.random.uuid(), to, language, template: "programs_in_review", values });
    await tx.job({ task: sendMessage, payload: mail });
  }
}

/** An audit record names this many at most; the count in the mail is exact. */
const maxTargets = 100;

async function withholdGrants(tx: Tx, accountId: string, personId: string, reason: EndReason) {
  const live = tx.db
    .updateTable("sessions")
    .where("account_id", "=", accountId)
    .where("person_id", "=", personId)
    .where("client_id", "is not", null)
    .where("revoked_at", "is", null)
    .where("review_since", "is", null);
  const kept = sql<boolean>`coalesce(scopes && ${[...scopesInReview]}::text[], true)`;
  await live.set({ revoked_at: tx.now, revoked_reason: reason }).where(sql<boolean>`not ${kept}`).execute();
  return live.set({ review_since: tx.now }).where(kept).returning("id").execute();
}

export type GrantRow = Pick<
  Selectable<SessionsRow>,
  "id" | "person_id" | "kind" | "scopes" | "created_at" | "last_used_at" | "review_since"
> & {
  readonly client_id: string | null;
  /** Null for the service's own client, whose row no account sees. */
  readonly client_name: Selectable<OauthClientsRow>["name"] | null;
};

/** A page of an account's grants that have not ended. */
export async function listGrants(tx: Tx, accountId: string, page: PageStart): Promise<GrantRow[]> {
  return pageRows(grants(tx, accountId), page, "sessions");
}

export async function findGrant(tx: Tx, accountId: string, id: string): Promise<GrantRow | undefined> {
  return grants(tx, accountId).where("sessions.id", "=", id).executeTakeFirst();
}

/** From now on this member answers for the grant. */
export async function reviewGrant(tx: Tx, accountId: string, id: string, memberId: string): Promise<void> {
  await tx.db
    .updateTable("sessions")
    .set({ person_id: memberId, review_since: null })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("client_id", "is not", null)
    .execute();
}

function grants(tx: Tx, accountId: string) {
  return (
    tx.db
      .selectFrom("sessions")
      .leftJoin("oauth_clients", "oauth_clients.id", "sessions.client_id")
      .select(["sessions.id", "sessions.person_id", "sessions.kind", "sessions.scopes", "sessions.review_since"])
      .select(["sessions.created_at", "sessions.last_used_at"])
      .select(["sessions.client_id", "oauth_clients.name as client_name"])
      .where("sessions.account_id", "=", accountId)
      .where("sessions.client_id", "is not", null)
      // A session of client credentials has no person: it is no grant.
      .where("sessions.person_id", "is not", null)
      .where("sessions.revoked_at", "is", null)
      .where("sessions.idle_expires_at", ">", tx.now)
      .where("oauth_clients.revoked_at", "is", null)
  );
}

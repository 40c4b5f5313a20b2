/**
 * Bans. They are set automatically for a suspicious pattern, or by staff. They end by time, or staff lift them. A ban of a
 * credential belongs to its account; a ban of an address or of a staff session belongs to the platform.
 */

import { type Selectable, sql } from "kysely";
import { lockOwners } from "../accounts/index.ts";
import type { Random } from "../kernel/clock.ts";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { BansRow } from "../kernel/database/rows.generated.ts";
import type { RowAccess } from "../kernel/principal.ts";
import type { ReadTx, RunTx, Tx } from "../kernel/tx.ts";
import { type Language, mailMessage, sendMessage } from "../messages/index.ts";
import { addressMemoryMs, banMs } from "./rules.ts";

export type BanRow = Selectable<BansRow>;
export type BanKind = BanRow["kind"];

export interface NewBan {
  readonly kind: BanKind;
  readonly subject: string;
  readonly accountId: string | null;
  readonly by:
    | { readonly cause: "pattern" }
    /** `hours` null: until it is lifted. */
    | { readonly cause: "staff"; readonly staffId: string; readonly reason: string; readonly hours: number | null };
}

export function rowAccessOfBan(ban: { readonly accountId: string | null }): RowAccess {
  return ban.accountId === null ? { kind: "platform" } : { kind: "account", accountId: ban.accountId };
}

/** The notice of a change of the ban of an address; a trigger sends it. */
export const addressBansChanged = "address_bans";

/** Sets a ban, with its audit record and its mails; undefined when the subject is already banned. */
export async function banSubject(
  run: RunTx,
  ban: NewBan,
  { random, staffEmail }: { readonly random: Random; readonly staffEmail: string },
): Promise<BanRow | undefined> {
  return run(rowAccessOfBan(ban), async (tx) => {
    // Two processes can detect the same pattern at once.
    await sql`select pg_advisory_xact_lock(hashtextextended(${`ban ${ban.kind} ${ban.subject}`}, 0))`.execute(tx.db);
    const earlier = await listOf(tx, ban);
    if (earlier.some((row) => holds(row, tx.now))) return undefined;
    const row = await insertBan(tx, random.uuid(), ban, expiry(tx, ban, earlier));
    const metadata = {
      kind: row.kind,
      cause: row.cause,
      until: row.expires_at?.toISOString() ?? null,
      reason: row.reason,
    };
    tx.audit({ action: "ban.set", targets: [targetOf(row)], metadata });
    for (const { to, language } of await recipients(tx, ban, staffEmail)) {
      const values = { ban_id: row.id, kind: row.kind, until: row.expires_at?.toISOString() ?? "" };
      const mail = mailMessage({ id: random.uuid(), to, language, template: "ban_set", values });
      await tx.job({ task: sendMessage, payload: mail });
    }
    return row;
  });
}

/** Ends a ban; undefined when it is not active. */
export async function liftBan(
  tx: Tx,
  id: string,
  { staffId, reason }: { readonly staffId: string; readonly reason: string },
): Promise<BanRow | undefined> {
  const row = await tx.db
    .updateTable("bans")
    .set({ lifted_at: tx.now, lifted_by: staffId, lift_reason: reason, updated_at: tx.now })
    .where("id", "=", id)
    .where("lifted_at", "is", null)
    .where((is) => is.or([is("expires_at", "is", null), is("expires_at", ">", tx.now)]))
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) return undefined;
  tx.audit({ action: "ban.lifted", targets: [targetOf(row)], metadata: { kind: row.kind, reason } });
  return row;
}

/** A page; row access `staff`. */
export async function listBans(tx: ReadTx, filter: { readonly active?: boolean }, page: PageStart): Promise<BanRow[]> {
  let select = tx.db.selectFrom("bans").selectAll();
  if (filter.active === true) {
    select = select
      .where("lifted_at", "is", null)
      .where((is) => is.or([is("expires_at", "is", null), is("expires_at", ">", tx.now)]));
  }
  return pageRows(select, page);
}

/** One ban of any account; row access `staff`. */
export async function findBan(tx: ReadTx, id: string): Promise<BanRow | undefined> {
  return tx.db.selectFrom("bans").selectAll().where("id", "=", id).executeTakeFirst();
}

/** Address bans that changed since the given time, newest change last; row access `platform`. */
export async function listAddressBans(tx: ReadTx, since: Date, take: number): Promise<BanRow[]> {
  return tx.db
    .selectFrom("bans")
    .selectAll()
    .where("kind", "=", "address")
    .where("updated_at", ">=", since)
    .orderBy("updated_at", "desc")
    .limit(take)
    .execute();
}

/** Deletes bans that have ended or were lifted, and started before the given time. Returns their number. */
export async function deleteOldAddressBans(tx: Tx, before: Date): Promise<number> {
  const result = await tx.db
    .deleteFrom("bans")
    .where("kind", "=", "address")
    .where("created_at", "<", before)
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

export function holds(row: Pick<BanRow, "lifted_at" | "expires_at">, now: Date): boolean {
  return row.lifted_at === null && (row.expires_at === null || row.expires_at > now);
}

/** Enough to count the earlier bans. */
const earlierBans = 10;

async function listOf(tx: ReadTx, { kind, subject }: NewBan): Promise<BanRow[]> {
  return tx.db
    .selectFrom("bans")
    .selectAll()
    .where("kind", "=", kind)
    .where("subject", "=", subject)
    .orderBy("created_at", "desc")
    .limit(earlierBans)
    .execute();
}

function expiry(tx: ReadTx, { kind, by }: NewBan, earlier: readonly BanRow[]): Date | null {
  if (by.cause === "staff") return by.hours === null ? null : new Date(tx.now.getTime() + by.hours * 3_600_000);
  // A ban that staff lifted does not count. An address can belong to another person by now, so old ones do not count.
  const since = kind === "address" ? tx.now.getTime() - addressMemoryMs : 0;
  const counted = earlier.filter((row) => row.lifted_at === null && row.created_at.getTime() > since);
  const ms = banMs(kind, counted.length);
  return ms === null ? null : new Date(tx.now.getTime() + ms);
}

async function insertBan(tx: Tx, id: string, ban: NewBan, expiresAt: Date | null): Promise<BanRow> {
  const { kind, subject, accountId, by } = ban;
  return tx.db
    .insertInto("bans")
    .values({
      id,
      kind,
      subject,
      account_id: accountId,
      cause: by.cause,
      reason: by.cause === "staff" ? by.reason : null,
      created_by: by.cause === "staff" ? by.staffId : null,
      expires_at: expiresAt,
      created_at: tx.now,
      updated_at: tx.now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** An address is personal data, and audit records are never deleted. So the audit record names the ban's id instead. */
function targetOf(row: BanRow): { type: string; id: string } {
  return row.kind === "address" ? { type: "ban", id: row.id } : { type: row.kind, id: row.subject };
}

async function recipients(
  tx: Tx,
  ban: NewBan,
  staffEmail: string,
): Promise<readonly { to: string; language: Language }[]> {
  if (ban.accountId === null) return [{ to: staffEmail, language: "tr" }];
  const owners = await lockOwners(tx, ban.accountId);
  return owners.map(({ email, language }) => ({ to: email, language }));
}

/** The account that a client or session belongs to; row access `staff`. */
export async function findCredentialAccount(tx: ReadTx, kind: "client" | "session", id: string) {
  const table = kind === "client" ? "oauth_clients" : "sessions";
  return tx.db.selectFrom(table).select("account_id").where("id", "=", id).executeTakeFirst();
}

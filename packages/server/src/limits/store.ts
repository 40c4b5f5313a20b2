/** All SQL about rates. Runs with row access to the account; lists of all accounts with row access `staff`. */

import { type Selectable, sql } from "kysely";
import { policies } from "../declarations.ts";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { LimitRequestsRow } from "../kernel/database/rows.generated.ts";
import type { LimitedAccount } from "../kernel/limits/limiter.ts";
import type { PolicyName, Rate } from "../kernel/limits/policies.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { packageRate, ratesOf } from "./rules.ts";

export type LimitRequestRow = Selectable<LimitRequestsRow>;

/** The data of an account that the limiter needs when there is no token; null when the account does not exist. */
export async function findLimitedAccount(tx: ReadTx, accountId: string): Promise<LimitedAccount> {
  return (await findLimitedAccounts(tx, [accountId])).get(accountId) ?? null;
}

/** The same for several accounts; with row access `staff` for any. */
export async function findLimitedAccounts(
  tx: ReadTx,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, LimitedAccount>> {
  if (accountIds.length === 0) return new Map();
  const rows = await tx.db
    .selectFrom("accounts")
    .innerJoin("packages", "packages.name", "accounts.package")
    .select(["accounts.id", "accounts.early_access", "packages.requests_per_minute", "packages.burst"])
    .where("accounts.id", "in", [...accountIds])
    .execute();
  const own = await tx.db
    .selectFrom("account_limits")
    .selectAll()
    .where("account_id", "in", [...accountIds])
    .execute();
  const customOf = (id: string) =>
    ratesOf(
      Object.fromEntries(
        own
          .filter((row) => row.account_id === id)
          .map((row) => [row.policy, [row.rate_limit, row.window_s, row.burst] as const]),
      ),
    );
  return new Map(
    rows.map((row) => {
      const rate = packageRate(row.requests_per_minute, row.burst);
      return [row.id, { earlyAccess: row.early_access, limits: { package: rate, custom: customOf(row.id) } }];
    }),
  );
}

export async function setAccountLimit(tx: Tx, accountId: string, policy: PolicyName, rate: Rate): Promise<void> {
  const values = { rate_limit: rate.limit, window_s: rate.windowMs / 1000, burst: rate.burst, set_at: tx.now };
  await tx.db
    .insertInto("account_limits")
    .values({ account_id: accountId, policy, ...values })
    .onConflict((conflict) => conflict.columns(["account_id", "policy"]).doUpdateSet(values))
    .execute();
}

/** Removes the custom rate. */
export async function deleteAccountLimit(tx: Tx, accountId: string, policy: PolicyName): Promise<void> {
  await tx.db.deleteFrom("account_limits").where("account_id", "=", accountId).where("policy", "=", policy).execute();
}

export interface NewLimitRequest {
  readonly id: string;
  readonly accountId: string;
  readonly policy: PolicyName;
  readonly rate: Rate;
  readonly reason: string;
  readonly requestedBy: string;
}

/** Undefined when a request for that policy is already waiting. */
export async function insertLimitRequest(tx: Tx, request: NewLimitRequest): Promise<LimitRequestRow | undefined> {
  return (
    tx.db
      .insertInto("limit_requests")
      .values({
        id: request.id,
        account_id: request.accountId,
        policy: request.policy,
        rate_limit: request.rate.limit,
        window_s: request.rate.windowMs / 1000,
        burst: request.rate.burst,
        reason: request.reason,
        state: "pending",
        requested_by: request.requestedBy,
        created_at: tx.now,
        updated_at: tx.now,
      })
      // A literal: the plan of a prepared statement must find the partial index without knowing its parameters.
      .onConflict((conflict) =>
        conflict.columns(["account_id", "policy"]).where("state", "=", sql.lit("pending")).doNothing(),
      )
      .returningAll()
      .executeTakeFirst()
  );
}

/** A page of one account, or with row access `staff` of all accounts. */
export async function listLimitRequests(
  tx: ReadTx,
  filter: { readonly accountId?: string; readonly state?: LimitRequestRow["state"] },
  page: PageStart,
): Promise<LimitRequestRow[]> {
  let select = tx.db.selectFrom("limit_requests").selectAll();
  if (filter.accountId !== undefined) select = select.where("account_id", "=", filter.accountId);
  if (filter.state !== undefined) select = select.where("state", "=", filter.state);
  return pageRows(select, page);
}

export interface LimitDecision {
  readonly state: "approved" | "rejected";
  readonly by: string;
  readonly reason: string;
}

/** Decides a waiting request and sets the rate if it is approved; undefined when it is not waiting. */
export async function decideLimitRequest(
  tx: Tx,
  id: string,
  decision: LimitDecision,
): Promise<LimitRequestRow | undefined> {
  const row = await tx.db
    .updateTable("limit_requests")
    .set({
      state: decision.state,
      decided_by: decision.by,
      decision_reason: decision.reason,
      decided_at: tx.now,
      updated_at: tx.now,
    })
    .where("id", "=", id)
    .where("state", "=", "pending")
    .returningAll()
    .executeTakeFirst();
  if (row !== undefined && row.state === "approved" && Object.hasOwn(policies, row.policy)) {
    const rate = { limit: row.rate_limit, windowMs: row.window_s * 1000, burst: row.burst };
    await setAccountLimit(tx, row.account_id, row.policy as PolicyName, rate);
  }
  return row;
}

/** The account that asked; row access `staff`. */
export async function findLimitRequestAccount(tx: ReadTx, id: string): Promise<string | undefined> {
  const row = await tx.db.selectFrom("limit_requests").select("account_id").where("id", "=", id).executeTakeFirst();
  return row?.account_id;
}

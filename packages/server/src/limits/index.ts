/**
 * Limits for customers and staff: the rates of an account, requests for other rates, and bans. `kernel/limits` counts the
 * requests. This file is the public API of the domain.
 *
 * Owns `account_limits` (rates that staff set for one account), `limit_requests` and `bans`.
 *
 * Invariants: a rate that staff set applies from the account's next request on; an automatic ban is for a credential or an
 * address, never for an account or a configured proxy; every ban is audited and mailed.
 */

export { type BanRow, banSubject, findBan, liftBan, listBans, type NewBan } from "./ban-store.ts";
export { limitRecurrences } from "./jobs.ts";
export { type Limits, openLimits } from "./open-limits.ts";
export { packageRate, rateOf, ratesOf } from "./rules.ts";
export {
  banSchema,
  banShape,
  limitRequestSchema,
  limitRequestShape,
  rateFields,
} from "./shapes.ts";
export {
  decideLimitRequest,
  deleteAccountLimit,
  findLimitedAccount,
  findLimitedAccounts,
  type LimitRequestRow,
  listLimitRequests,
  setAccountLimit,
} from "./store.ts";

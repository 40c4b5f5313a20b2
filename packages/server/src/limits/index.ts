/**
 * Limits, as customers and staff see them: the rates of an account, requests for other ones, and bans. How requests are
 * counted is the kernel's business (`kernel/limits`). The face of this domain.
 *
 * Owns `account_limits` (rates that staff set for one account), `limit_requests` and `bans`.
 *
 * Invariants: a rate that staff set counts from the account's next request on; a ban by machine is about a credential or
 * an address, never an account, and never an address of a configured proxy; every ban is audited and mailed.
 */

export { type BanRow, banSubject, findBan, liftBan, listBans, type NewBan } from "./bans.ts";
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

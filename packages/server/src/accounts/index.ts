/**
 * Accounts: customers, the people who sign in for them, and their machine clients. Owns the tables `packages`,
 * `accounts`, `account_entitlements`, `people`, `oauth_clients`, `oauth_client_secrets`.
 *
 * States of an account: `active` ↔ `suspended`; both → `closed`. Of a person: `invited` → `active` → `removed`.
 *
 * Invariants: an account has at least one active owner from its first enrolment on; an e-mail address belongs to
 * the one active person who enrolled it first, while any number of accounts may have invited it; staff are people without
 * an account; the table `packages` has the entitlements of each package, and an account's
 * own entitlements override them. `docs/ROLES.md` lists what each role may do.
 */

export {
  addSecret,
  type ClientRow,
  findClient,
  findClientById,
  insertClient,
  type NewClient,
  storeSecret,
  touchClient,
  verifyClientSecret,
  withholdClients,
} from "./client-store.ts";
export { accountEvents, accountSuspended, suspensionCauses } from "./events.ts";
export { type Change, mailAboutChange } from "./mail-about-change.ts";
export {
  erasePerson,
  findAccountOfPerson,
  findPerson,
  findPersonByEmail,
  insertPerson,
  isAddressTaken,
  listAllMembers,
  listMembers,
  listOwnersAnd,
  lockOwners,
  lockPerson,
  type NewPerson,
  type PersonChange,
  type PersonRow,
  updatePerson,
} from "./person-store.ts";
export {
  accountSchema,
  accountShape,
  emailSchema,
  languageSchema,
  maskedTaxId,
  memberSchema,
  memberShape,
  oneLinePattern,
  packages,
  roleSchema,
} from "./shapes.ts";
export { idParam, reasonSchema, staffOperation } from "./staff-operations.ts";
export {
  type AccountChange,
  type AccountRow,
  countAccountsByState,
  findAccount,
  insertAccount,
  listAccounts,
  lockAccount,
  type NewAccount,
  setEntitlement,
  updateAccount,
} from "./store.ts";

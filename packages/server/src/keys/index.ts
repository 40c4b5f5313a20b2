/**
 * Keys. Owns the tables `root_key` and `signing_keys`. Its nouns:
 *
 * - the *master key* stays outside the database: in a file, in the environment, or behind whatever else implements
 *   {@link MasterKey}. It does one thing: wrap the root key.
 * - the *root key* is what every sealed or hashed value derives from (`kernel/secrets.ts`). It never changes; a new
 *   master key wraps it anew ({@link rewrapRootKey}).
 * - *signing keys* sign access tokens (ES256). A key is published an hour before it signs and verifies until every
 *   token that it signed has expired, so that a rotation is noticed by nobody.
 *
 * Invariants: private keys are at rest only sealed; no key is ever taken from a token.
 */

export { keyRecurrences } from "./jobs.ts";
export {
  localMasterKey,
  type MasterKey,
  openRootKey,
  pendingMasterKeyFile,
  rewrapRootKey,
  settleMasterKeyFile,
} from "./root-key.ts";
export { createSigningKeys, type SigningKeys } from "./signing-keys.ts";

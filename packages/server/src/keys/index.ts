/**
 * Keys. Owns the tables `root_key` and `signing_keys`. Its nouns:
 *
 * - the *master key* stays outside the database: in a file, in the environment, or in another implementation of
 *   {@link MasterKey}. It only wraps the root key.
 * - the *root key* is the key from which all keys for encryption and hashing are derived (`kernel/secrets.ts`). It never
 *   changes; a new master key wraps it again ({@link rewrapRootKey}). The object store has a copy of it, wrapped in the
 *   same way, so that the store and the master key open every vault without the database ({@link rootKeyCopy}).
 * - *signing keys* sign access tokens (ES256). A key is published an hour before it signs, and verifies until every token
 *   that it signed has expired. So clients do not notice a rotation.
 *
 * Invariants: private keys are stored only encrypted; a key is never taken from a token.
 */

export { keyRecurrences } from "./jobs.ts";
export {
  cleanCopies,
  currentMasterKey,
  localMasterKey,
  type MasterKey,
  openRootKey,
  pendingMasterKeyFile,
  type RootKeySources,
  rewrapRootKey,
  settleMasterKeyFile,
} from "./root-key.ts";
export { type RootKeyCopy, rootKeyCopy } from "./root-key-copy.ts";
export { createSigningKeys, type SigningKeys } from "./signing-keys.ts";

/** The error of a vault that is open with the keys of an old epoch. */

/** The keys are of an older epoch than the newest one that the chain names. They may read and must not write. */
export class OutdatedKeysError extends Error {
  override readonly name = "OutdatedKeysError";
}

/** Errors of the object store, and of keys that were just rotated, as the API answers them. */

import { OutdatedKeysError } from "@emanet/engine";
import { ObjectStoreError } from "@emanet/engine/object-store";
import { Problem } from "../kernel/problems.ts";

/** Seconds after which a store that did not answer is likely to answer again. */
const retryAfterSeconds = 10;
/** A full store needs a person, so it is asked less often. */
const retryAfterFullSeconds = 60;

/** The problem of an error that ends by itself or by an operator; every other error as it is. */
export function storageProblem(error: unknown): unknown {
  // The keys were rotated between the opening of the vault and this step. The next request opens it with the new ones.
  if (error instanceof OutdatedKeysError)
    return new Problem("unavailable", { headers: { "Retry-After": "1" }, cause: error });
  if (!(error instanceof ObjectStoreError)) return error;
  if (error.code === "full") {
    return new Problem("storage_full", { headers: { "Retry-After": String(retryAfterFullSeconds) }, cause: error });
  }
  if (error.code === "unavailable" || error.code === "denied") {
    return new Problem("unavailable", { headers: { "Retry-After": String(retryAfterSeconds) }, cause: error });
  }
  return error;
}

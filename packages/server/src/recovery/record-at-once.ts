/** Operations after which the record of the account is written before they answer. */

import { setTimeout as delay } from "node:timers/promises";
import type { Endpoint } from "../kernel/http/endpoint.ts";
import { errorFields } from "../kernel/log.ts";

/**
 * Who has lost access must not have it again after a loss or an old dump, and a promise of retention must hold: the job would
 * write these a minute later. Programs and machines are here because they begin to work at once. All of them are rare.
 */
const atOnce: ReadonlySet<string> = new Set([
  ...["members.remove", "members.update", "members.erase"],
  ...["account.update", "admin.suspend_account", "admin.set_package", "admin.set_entitlement"],
  // What people sign in with. A new password, authenticator or telephone number ends the old one.
  ...["me.change_password", "me.confirm_totp", "me.renew_recovery_codes", "me.update", "me.confirm_phone"],
  ...["auth.reset_password", "password_reset.choose", "enrolment.complete", "enrolment.set_up"],
  ...["oauth_clients.create", "oauth_clients.update", "oauth_clients.delete", "oauth_clients.rotate_secret"],
  ...["agents.create", "agents.update", "agents.replace", "agents.delete", "sources.set_writers"],
  ...["recovery_kits.create", "recovery_kits.cancel", "recovery_kits.download", "vaults.rotate_keys"],
  ...["vaults.set_retention", "sources.set_retention"],
]);

/** A record takes some ten milliseconds, over a slow line to a bucket a second. Who waits longer meets a store that hangs. */
const patienceMs = 5_000;

/**
 * The same endpoints. A store that is away, or does not answer in time, fails no request: the job writes the record when it is back.
 */
export function recordingAtOnce(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  return endpoints.map((one) => (atOnce.has(one.spec.id) ? { ...one, afterCommit: record } : one));
}

const record: NonNullable<Endpoint["afterCommit"]> = async ({ services, log }, accounts) => {
  const isOver = new AbortController();
  const late = delay(patienceMs, null, { signal: isOver.signal }).then(() => {
    throw new Error(`the record was not written within ${patienceMs} ms`);
  });
  const written = Promise.all([...accounts].map((accountId) => services.recovery.recordChanges(accountId)));
  try {
    await Promise.race([written, late]);
  } catch (error) {
    log.warn("record_not_written", errorFields(error));
  } finally {
    isOver.abort();
    // Whichever was slower.
    for (const each of [written, late]) each.catch(() => undefined);
  }
};

/** Operations after which the record of the account is written before they answer. */

import type { Endpoint } from "../kernel/http/endpoint.ts";
import { errorFields } from "../kernel/log.ts";

/**
 * Who has lost access must not have it again after a loss or an old dump, and a promise of retention must hold: the job would
 * write these a minute later. Programs and machines are here because they begin to work at once. All of them are rare.
 */
const atOnce: ReadonlySet<string> = new Set([
  ...["members.remove", "members.update", "members.erase"],
  ...["me.change_password", "me.confirm_totp", "me.renew_recovery_codes"],
  ...["oauth_clients.create", "oauth_clients.update", "oauth_clients.delete", "oauth_clients.rotate_secret"],
  ...["agents.create", "agents.update", "agents.replace", "agents.delete", "sources.set_writers"],
  ...["vaults.set_retention", "sources.set_retention"],
]);

/** The same endpoints. A store that is away fails no request: the job writes the record when it is back. */
export function recordingAtOnce(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  return endpoints.map((one) => (atOnce.has(one.spec.id) ? recording(one) : one));
}

function recording(one: Endpoint): Endpoint {
  return {
    ...one,
    async handle(ctx, call) {
      const reply = await one.handle(ctx, call);
      const accountId = "accountId" in call.principal ? call.principal.accountId : null;
      if (typeof accountId === "string")
        await ctx.services.recovery
          .recordChanges(accountId)
          .catch((error: unknown) => ctx.log.warn("record_not_written", errorFields(error)));
      return reply;
    },
  };
}

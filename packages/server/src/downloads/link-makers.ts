/** Who made a link, as its rights are now. Handlers get it as `ctx.services.downloads`. */

import { oauthScopes } from "../declarations.ts";
import type { Clock } from "../kernel/clock.ts";
import { checkAccess } from "../kernel/http/access.ts";
import type { AccessSpec } from "../kernel/http/endpoint.ts";
import type { Authenticator, Principal } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";
import type { LinkRow } from "./store.ts";

export type LinkMaker = Extract<Principal, { accountId: string }>;

export interface DownloadServices {
  /**
   * The maker of a link, who may still do what `access` says. Throws `download_expired` when it may not, and `unavailable` when the
   * database does not answer.
   */
  makerOf(link: LinkRow, access: AccessSpec): Promise<LinkMaker>;
}

declare module "../kernel/domain-services.ts" {
  interface Services {
    readonly downloads: DownloadServices;
  }
}

/** Seconds after which the database is likely to answer again. */
const retrySoon = { headers: { "Retry-After": "5" } };

interface Sources {
  readonly authenticator: Authenticator;
  readonly clock: Clock;
}

export function openDownloads({ authenticator, clock }: Sources): DownloadServices {
  return {
    async makerOf({ session_id: sessionId, account_id: accountId, scopes }, access) {
      const maker = await authenticator.ofSession({ sessionId, accountId, scopes });
      if (maker.kind === "refused" && maker.code === "unavailable") throw new Problem("unavailable", retrySoon);
      if (maker.kind === "refused" || maker.kind === "staff") throw new Problem("download_expired");
      try {
        checkAccess(access, oauthScopes, maker, clock.now());
      } catch (error) {
        throw error instanceof Problem ? new Problem("download_expired", { cause: error }) : error;
      }
      return maker;
    },
  };
}

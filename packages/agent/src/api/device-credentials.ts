/**
 * The credential of a device grant. Its refresh token is replaced at every use, and an old one ends the grant. So processes of
 * this machine take turns: under a lock the stored grant is read again, refreshed if it must be, and stored before it is used.
 */

import type { Credentials, TokenRequest } from "@emanet/client/source";
import type { Environment } from "../config.ts";
import { CommandFailure, exitCodes } from "../failure.ts";
import { withLock } from "../state/locks.ts";
import type { Grant } from "../state/sign-in.ts";
import { readSignIn, storeSignIn } from "../state/sign-in.ts";

/** The OAuth client of all agents. The service creates it. */
export const agentClientId = "01990000-0000-7000-8000-00000000a6e7";

export type Purpose = "writing" | "reading";

/** A token is replaced this long before it expires. */
const marginMs = 30_000;

/** A refresh takes less than a second; a service that hangs is given up by the request's own time limit. */
const lockWaitMs = 60_000;

export function deviceCredentials(environment: Environment, purpose: Purpose): Credentials {
  let refused: string | null = null;
  return {
    async token(request) {
      const grant = storedGrant(environment, purpose);
      if (isFresh(grant, request.now(), refused)) return grant.accessToken ?? undefined;
      const locked = await withLock(environment.stateFolder, "refresh", () => refresh(request), {
        waitMs: lockWaitMs,
      });
      if (locked === null) throw new CommandFailure("another process is refreshing the credential and does not end");
      return locked.value;
    },
    renew(token) {
      refused = token;
      return true;
    },
  };

  async function refresh(request: TokenRequest): Promise<string> {
    const grant = storedGrant(environment, purpose);
    if (isFresh(grant, request.now(), refused)) return grant.accessToken ?? "";
    const asked = request.now();
    const form = { grant_type: "refresh_token", refresh_token: grant.refreshToken, client_id: agentClientId };
    const { response } = await request.send({
      method: "POST",
      path: "/oauth2/token",
      body: new URLSearchParams(form).toString(),
      contentType: "application/x-www-form-urlencoded",
      anonymous: true,
    });
    const answer = (await response.json()) as { access_token: string; refresh_token?: string; expires_in: number };
    replaceGrant(environment, purpose, {
      ...grant,
      refreshToken: answer.refresh_token ?? grant.refreshToken,
      accessToken: answer.access_token,
      accessUntil: asked + answer.expires_in * 1000 - marginMs,
    });
    return answer.access_token;
  }
}

function isFresh({ accessToken, accessUntil }: Grant, now: number, refused: string | null): boolean {
  return accessToken !== null && accessToken !== refused && now < accessUntil;
}

function storedGrant(environment: Environment, purpose: Purpose): Grant {
  const identity = readSignIn(environment)?.identity;
  const grant = identity?.kind === "device" ? identity[purpose] : null;
  if (grant === null || grant === undefined)
    throw new CommandFailure("there is no grant on this machine", {
      exitCode: exitCodes.notSignedIn,
      advice: purpose === "reading" ? "Run `emanet login --read`." : "Run `emanet login`.",
    });
  return grant;
}

function replaceGrant(environment: Environment, purpose: Purpose, grant: Grant): void {
  const signIn = readSignIn(environment);
  if (signIn?.identity.kind !== "device") return;
  storeSignIn(environment, { ...signIn, identity: { ...signIn.identity, [purpose]: grant } });
}

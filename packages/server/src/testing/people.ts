/** People for tests: those of the first run, signed in over HTTP. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { codeAt } from "../identity/factors/totp.ts";
import type { Sent, TestService } from "./running.ts";

export interface Login {
  readonly email: string;
  readonly password: string;
  readonly totp_secret: string;
}

export interface FirstRunFile {
  readonly base_url: string;
  readonly ca_file: string;
  readonly staff: Login;
  readonly demo: Login & {
    readonly account_id: string;
    readonly package: string;
    readonly client_id: string;
    readonly client_secret: string;
  };
}

export async function readFirstRun(dataDir: string): Promise<FirstRunFile> {
  return JSON.parse(await readFile(path.join(dataDir, "first-run.json"), "utf8")) as FirstRunFile;
}

/** Settings without sign-in limits. */
export const noSignInLimits = {
  EMANET_LIMIT_LOGIN: "1000000/60",
  EMANET_LIMIT_LOGIN_IP: "1000000/60",
  EMANET_LIMIT_SMS_MINUTE: "1000/60",
  EMANET_LIMIT_SMS_HOUR: "1000/3600",
  EMANET_LIMIT_ADMIN: "1000000/60",
  EMANET_LIMIT_LOCKOUT: "100000/1",
} as const;

export interface SignedIn {
  readonly token: string;
  readonly refresh: string;
  readonly device: string;
  readonly answer: Sent;
  /** Headers of a request in this person's name. */
  readonly auth: { readonly authorization: string };
}

/** Signs in with an unused code: moves the clock by one step. */
export async function signInAs(
  service: TestService,
  login: Login,
  options: { readonly client?: "api" | "dashboard"; readonly cookie?: string } = {},
): Promise<SignedIn> {
  service.clock.advance(30_000);
  const { email, password, totp_secret: secret } = login;
  const { client = "dashboard", cookie } = options;
  const answer = await service.send("POST", "/v1/auth/login", {
    json: { email, password, totp_code: codeAt(secret, service.clock.now()), client },
    ...(cookie !== undefined && { headers: { cookie } }),
  });
  assert.equal(answer.status, 200, answer.body.toString());
  const token = String(answer.json?.access_token);
  const refresh = cookieOf(answer, "__Host-refresh");
  const device = cookieOf(answer, "__Host-device");
  return { token, refresh, device, answer, auth: { authorization: `Bearer ${token}` } };
}

/** The value of a cookie that an answer sets. */
export function cookieOf(answer: Sent, name: string): string {
  const found = new RegExp(`${name}=([^;]*)`).exec(answer.headers["set-cookie"] ?? "");
  assert.ok(found, `${name} is not set`);
  return found[1] ?? "";
}

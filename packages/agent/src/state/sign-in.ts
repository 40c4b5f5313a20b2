/**
 * How this machine signs in: the address of the service and a credential. `EMANET_*` variables come first, then what `emanet
 * login` stored in `login.json`.
 *
 * A *device* sign-in has the refresh token of a grant that a person approved. Its tokens write. A second grant reads; it is
 * approved for an hour (`reading`). A *client* sign-in has the id and the secret of an OAuth client.
 */

import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import type { Environment } from "../config.ts";
import { CommandFailure } from "../failure.ts";
import { readJsonFile, textIn, writeSecretFile } from "./secret-file.ts";

export interface Grant {
  readonly refreshToken: string;
  /** An access token that may still be valid, so that runs every minute do not refresh every time. */
  readonly accessToken: string | null;
  readonly accessUntil: number;
  /** When the agent forgets the grant; null if it does not. */
  readonly until: number | null;
}

export type Identity =
  | { readonly kind: "client"; readonly clientId: string; readonly clientSecret: string }
  | { readonly kind: "device"; readonly writing: Grant; readonly reading: Grant | null };

export interface SignIn {
  readonly url: string;
  /** PEM of a certificate authority that is trusted beside those of the system. */
  readonly ca: string | null;
  readonly identity: Identity;
}

export function loginFile({ stateFolder }: Pick<Environment, "stateFolder">): string {
  return path.join(stateFolder, "login.json");
}

/** How to sign in; null if nothing says it. */
export function readSignIn(environment: Environment): SignIn | null {
  const stored = readJsonFile(loginFile(environment));
  const { url, clientId, clientSecret, caFile } = environment;
  if (url !== null && clientId !== null && clientSecret !== null)
    return { url, ca: readCa(caFile), identity: { kind: "client", clientId, clientSecret } };
  if (stored === null) return null;
  const identity = identityIn(stored);
  const storedUrl = textIn(stored, "url");
  if (identity === null || storedUrl === null)
    throw new CommandFailure(`${loginFile(environment)} is not complete`, { advice: "Run `emanet login` again." });
  return { url: url ?? storedUrl, ca: caFile === null ? textIn(stored, "ca") : readCa(caFile), identity };
}

export function readCa(file: string | null): string | null {
  if (file === null) return null;
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new CommandFailure(`the file of the certificate authority cannot be read: ${file}`, { cause: error });
  }
}

export function storeSignIn(environment: Environment, signIn: SignIn): void {
  writeSecretFile(loginFile(environment), `${JSON.stringify(signIn, null, 2)}\n`);
}

export function removeSignIn(environment: Environment): void {
  rmSync(loginFile(environment), { force: true });
}

/** Who signs in where: what belongs to one must never be used for another. */
export function identityName({ url, identity }: SignIn, stateFolder: string): string {
  // The tokens of a device change; there is one device sign-in per state folder.
  const who = identity.kind === "client" ? `client ${identity.clientId}` : `device ${stateFolder}`;
  return createHash("sha256").update(`${url}\n${who}`).digest("hex").slice(0, 16);
}

type Stored = Readonly<Record<string, unknown>>;

function identityIn({ identity }: Stored): Identity | null {
  if (!isObject(identity)) return null;
  if (identity.kind === "client") {
    const [clientId, clientSecret] = [textIn(identity, "clientId"), textIn(identity, "clientSecret")];
    return clientId === null || clientSecret === null ? null : { kind: "client", clientId, clientSecret };
  }
  const writing = grantIn(identity.writing);
  return writing === null ? null : { kind: "device", writing, reading: grantIn(identity.reading) };
}

function grantIn(value: unknown): Grant | null {
  if (!isObject(value)) return null;
  const refreshToken = textIn(value, "refreshToken");
  if (refreshToken === null) return null;
  const number = (name: string) => (typeof value[name] === "number" ? value[name] : null);
  return {
    refreshToken,
    accessToken: textIn(value, "accessToken"),
    accessUntil: number("accessUntil") ?? 0,
    until: number("until"),
  };
}

function isObject(value: unknown): value is Stored {
  return typeof value === "object" && value !== null;
}

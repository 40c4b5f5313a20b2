/** A connection to the service: the client of its API, signed in as this machine. */

import path from "node:path";
import type { CallOptions, Credentials, EmanetClient } from "@emanet/client/source";
import { clientCredentials, createClient } from "@emanet/client/source";
import type { AgentContext } from "../context.ts";
import { CommandFailure, exitCodes } from "../failure.ts";
import type { SignIn } from "../state/sign-in.ts";
import { identityName, readSignIn } from "../state/sign-in.ts";
import { deviceCredentials, type Purpose } from "./device-credentials.ts";
import { httpsFetch } from "./https-fetch.ts";
import type { Throttle } from "./throttle.ts";
import { claimsOf, type TokenClaims } from "./token-claims.ts";

export interface Connection {
  readonly client: EmanetClient;
  readonly signIn: SignIn;
  /** Files of this sign-in: its signing key, what it knows of its sources. */
  readonly folder: string;
  /** Who the service says we are. */
  claims(patience?: Pick<CallOptions, "retries">): Promise<TokenClaims>;
  /** The clock of the service at its last answer. */
  serviceTime(): number | null;
  close(): void;
}

/** A request of the API takes the service 30 s at most; a slow line may take longer. */
const timeoutMs = 120_000;

/** Connects with what is stored or set. Throws if this machine has no sign-in. Nothing is sent yet. */
export function connect(context: AgentContext, purpose: Purpose, throttle: Throttle | null = null): Connection {
  const { environment, texts } = context;
  const signIn = readSignIn(environment);
  if (signIn === null)
    throw new CommandFailure(texts.notSignedIn, { exitCode: exitCodes.notSignedIn, advice: texts.adviceLogin });
  assertMayRead(context, signIn, purpose);
  const credentials =
    signIn.identity.kind === "client"
      ? clientCredentials({ clientId: signIn.identity.clientId, clientSecret: signIn.identity.clientSecret })
      : deviceCredentials(environment, purpose);
  return connectAs(context, signIn, credentials, throttle);
}

/** Connects with other credentials, or with none (`login`). */
export function connectAs(
  { environment, now, newKey, random, version, wait }: AgentContext,
  signIn: SignIn,
  credentials: Credentials | null,
  throttle: Throttle | null = null,
): Connection {
  const transport = httpsFetch({ ca: signIn.ca, userAgent: `emanet/${version}`, throttle });
  const platform = { fetch: transport.fetch, now, newKey, random: () => (random(1)[0] ?? 0) / 256, wait };
  const { url: baseUrl } = signIn;
  const language = environment.language;
  const client = createClient({ baseUrl, language, timeoutMs, platform, ...(credentials && { credentials }) });
  return {
    client,
    signIn,
    folder: path.join(environment.stateFolder, identityName(signIn, environment.stateFolder)),
    async claims(patience = {}) {
      const send: typeof client.request = (request) => client.request({ ...patience, ...request });
      const token = await credentials?.token({ baseUrl, send, now, signal: undefined });
      return claimsOf(token ?? "");
    },
    serviceTime: transport.serviceTime,
    close: transport.close,
  };
}

/** Reading with a device sign-in was approved for an hour, or not at all. */
function assertMayRead({ now }: AgentContext, { identity }: SignIn, purpose: Purpose): void {
  if (identity.kind === "client" || purpose === "writing") return;
  const { reading } = identity;
  if (reading !== null && (reading.until === null || now() < reading.until)) return;
  throw new CommandFailure("this machine may write and not read", {
    exitCode: exitCodes.notSignedIn,
    advice: "Run `emanet login --read`: a person approves reading for an hour.",
  });
}

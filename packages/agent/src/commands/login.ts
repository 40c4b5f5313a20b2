/**
 * `login` and `logout`: how this machine gets its credential and gives it up. A login that fails leaves the one before as it was. Secrets come
 * from files, standard input or variables, never from the command line.
 */

import { readFileSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import path from "node:path";
import { OauthError } from "@emanet/client/source";
import type { Connection } from "../api/connection.ts";
import { connect, connectAs } from "../api/connection.ts";
import { agentClientId } from "../api/device-credentials.ts";
import { ensureAgent } from "../api/registration.ts";
import type { Environment } from "../config.ts";
import { CommandFailure, exitCodes, usage } from "../failure.ts";
import { timeText } from "../output/numbers.ts";
import { readJsonFile, textIn } from "../state/secret-file.ts";
import type { Grant, Identity, SignIn } from "../state/sign-in.ts";
import { identityName, readCa, readSignIn, removeSignIn, storeSignIn } from "../state/sign-in.ts";
import type { Command, Run } from "./command.ts";

/** Reading is approved for so long. */
const readingMs = 60 * 60_000;

/** What a device asks for. Restores that are ordered need nothing more. */
const scopes = { writing: "snapshots:write", reading: "snapshots:read" } as const;

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

export const login: Command = async (run) => {
  const { line } = run;
  if (line.has("read")) return loginForReading(run);
  const place = placeOf(run);
  const identity = (await clientOf(run)) ?? (await deviceOf(run, place));
  const signIn = { ...place, identity };
  const before = readSignIn(storedOnly(run.environment));
  storeSignIn(run.environment, signIn);
  // A new grant is a new writer: it needs a key of its own.
  if (identity.kind === "device") forgetAgent(run, signIn);
  const connection = connect({ ...run, environment: storedOnly(run.environment) }, "writing");
  try {
    const vaults = line.list("vault");
    const name = line.text("name") ?? hostname();
    const agent = await ensureAgent(run, connection, { name, ...(vaults.length > 0 && { vaults }) });
    if (before?.identity.kind === "device")
      await endGrants(run, before, [before.identity.writing, before.identity.reading]);
    run.data({ type: "signed_in", url: signIn.url, kind: identity.kind, agent_id: agent.id });
    run.say(run.texts.signedIn(signIn.url));
    return exitCodes.done;
  } catch (error) {
    // A sign-in that does not work must not take the place of one that does.
    if (before === null) removeSignIn(run.environment);
    else storeSignIn(run.environment, before);
    throw error;
  } finally {
    connection.close();
  }
};

async function loginForReading(run: Run) {
  const signIn = readSignIn(run.environment);
  if (signIn === null) throw notSignedIn(run);
  if (signIn.identity.kind === "client") throw usage("an OAuth client has the rights that its owner gave it");
  const grant = await approve(run, signIn, "reading");
  const until = run.now() + readingMs;
  storeSignIn(run.environment, { ...signIn, identity: { ...signIn.identity, reading: { ...grant, until } } });
  await endGrants(run, signIn, [signIn.identity.reading]);
  run.data({ type: "signed_in", url: signIn.url, kind: "device", reading_until: new Date(until).toISOString() });
  run.say(run.texts.readsUntil(timeText(until, run.environment.language)));
  return exitCodes.done;
}

export const logout: Command = async (run) => {
  const environment = storedOnly(run.environment);
  const signIn = readSignIn(environment);
  if (signIn !== null && signIn.identity.kind === "device") {
    const { writing, reading } = signIn.identity;
    await endGrants(run, signIn, [writing, reading]);
    forgetAgent(run, signIn);
  }
  removeSignIn(environment);
  run.data({ type: "signed_out" });
  run.say(run.texts.signedOut);
  return exitCodes.done;
};

/** Ends grants that this machine does not need any more. What cannot be ended is said, and ends by itself. */
async function endGrants(run: Run, signIn: SignIn, grants: readonly (Grant | null)[]): Promise<void> {
  const connection = connectAs(run, signIn, null);
  for (const grant of grants)
    if (grant !== null)
      await connection.client.oauth
        .revoke({ body: { token: grant.refreshToken, client_id: agentClientId } }, { retries: { max: 0 } })
        .catch((error: unknown) => run.err(`emanet: the grant could not be ended: ${String(error)}\n`));
  connection.close();
}

function notSignedIn({ texts }: Run): CommandFailure {
  return new CommandFailure(texts.notSignedIn, { exitCode: exitCodes.notSignedIn, advice: texts.adviceLogin });
}

/** Without the sign-in of the environment's variables. */
function storedOnly(environment: Environment): Environment {
  return { ...environment, clientId: null, clientSecret: null, url: null, caFile: null };
}

function forgetAgent({ environment }: Run, signIn: SignIn): void {
  const folder = path.join(environment.stateFolder, identityName(signIn, environment.stateFolder));
  rmSync(path.join(folder, "agent.json"), { force: true });
}

/** The file that the service writes at its first start: address, authority and a demo client. */
interface FirstRun {
  readonly url: string | null;
  readonly ca: string | null;
  readonly clientId: string | null;
  readonly clientSecret: string | null;
}

function firstRunOf({ line }: Run): FirstRun | null {
  const file = line.text("from");
  if (file === null) return null;
  const read = readJsonFile(file);
  if (read === null) throw usage(`there is no file ${file}`);
  const demo = typeof read.demo === "object" && read.demo !== null ? (read.demo as Record<string, unknown>) : {};
  const caFile = textIn(read, "ca_file");
  return {
    url: textIn(read, "base_url"),
    ca: caFile === null ? null : readCa(path.resolve(path.dirname(file), caFile)),
    clientId: textIn(demo, "client_id"),
    clientSecret: textIn(demo, "client_secret"),
  };
}

function placeOf(run: Run): Pick<SignIn, "url" | "ca"> {
  const { line, environment } = run;
  const first = firstRunOf(run);
  const url = line.text("url") ?? first?.url ?? environment.url;
  if (url === null) throw usage("login needs --url URL, or EMANET_URL");
  const caFile = line.text("ca-file");
  const ca = caFile !== null ? readCa(caFile) : (first?.ca ?? readCa(environment.caFile));
  if (!URL.canParse(url)) throw usage(`--url takes an address such as https://api.emanet.example, not ${url}`);
  return { url: url.replace(/\/+$/, ""), ca };
}

async function clientOf(run: Run): Promise<Identity | null> {
  const { line, environment } = run;
  const first = firstRunOf(run);
  const clientId = line.text("client-id") ?? first?.clientId ?? environment.clientId;
  if (clientId === null) return null;
  const file = line.text("client-secret-file");
  const clientSecret =
    file === null
      ? line.text("client-id") === null
        ? (first?.clientSecret ?? environment.clientSecret)
        : environment.clientSecret
      : await secretIn(run, file);
  if (clientSecret === null || clientSecret === "")
    throw usage("the client's secret comes from --client-secret-file or EMANET_CLIENT_SECRET");
  return { kind: "client", clientId, clientSecret };
}

/** From a file or from standard input, never from the command line, which other users see. */
async function secretIn({ stdin }: Run, file: string): Promise<string> {
  if (file !== "-") {
    try {
      return readFileSync(file, "utf8").trim();
    } catch (error) {
      throw new CommandFailure(`the file of the client's secret cannot be read: ${file}`, { cause: error });
    }
  }
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString("utf8").trim();
}

async function deviceOf(run: Run, place: Pick<SignIn, "url" | "ca">): Promise<Identity> {
  const nobody = { refreshToken: "", accessToken: null, accessUntil: 0, until: null };
  const writing = await approve(
    run,
    { ...place, identity: { kind: "device", writing: nobody, reading: null } },
    "writing",
  );
  return { kind: "device", writing, reading: null };
}

/** The device flow (RFC 8628): a person opens a page, enters the code, and approves. */
async function approve(run: Run, signIn: SignIn, purpose: "writing" | "reading"): Promise<Grant> {
  const connection = connectAs(run, signIn, null);
  try {
    const { client } = connection;
    const asked = await client.oauth.authorizeDevice({ body: { client_id: agentClientId, scope: scopes[purpose] } });
    run.data({
      type: "approval_needed",
      verification_uri: asked.verification_uri,
      user_code: asked.user_code,
      expires_in: asked.expires_in,
    });
    run.say(run.texts.openPage(asked.verification_uri));
    run.say(run.texts.enterCode(asked.user_code));
    run.say(run.texts.waiting);
    return await poll(run, connection, asked);
  } finally {
    connection.close();
  }
}

interface Asked {
  readonly device_code: string;
  readonly interval?: number | undefined;
  readonly expires_in: number;
}

/** RFC 8628: a program that polls too often adds five seconds. */
const slowDownSeconds = 5;

async function poll(run: Run, { client }: Connection, asked: Asked): Promise<Grant> {
  const until = run.now() + asked.expires_in * 1000;
  let seconds = asked.interval ?? slowDownSeconds;
  while (run.now() < until) {
    await run.wait(seconds * 1000, run.signal);
    const at = run.now();
    try {
      const body = { grant_type: deviceGrant, device_code: asked.device_code, client_id: agentClientId } as const;
      const answer = await client.oauth.token({ body });
      const refreshToken = answer.refresh_token ?? "";
      return {
        refreshToken,
        accessToken: answer.access_token,
        accessUntil: at + answer.expires_in * 1000 - 30_000,
        until: null,
      };
    } catch (error) {
      if (!(error instanceof OauthError)) throw error;
      if (error.error === "slow_down") seconds += slowDownSeconds;
      else if (error.error !== "authorization_pending")
        throw new CommandFailure(`it was not approved (${error.error})`, {
          exitCode: exitCodes.notSignedIn,
          cause: error,
        });
    }
  }
  throw new CommandFailure("nobody approved it in time", { exitCode: exitCodes.notSignedIn });
}

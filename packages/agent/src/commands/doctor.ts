/**
 * `doctor`: goes through what a backup needs, from the disk to the credential, and explains the first thing that is wrong in each
 * step. It changes nothing and sends no credential to a service that is not trusted.
 */

import { lookup } from "node:dns/promises";
import { mkdirSync, statSync } from "node:fs";
import https from "node:https";
import path from "node:path";
import { OauthError, ProblemError } from "@emanet/client/source";
import type { Connection } from "../api/connection.ts";
import { connect } from "../api/connection.ts";
import { storedAgent } from "../api/registration.ts";
import { newerVersion } from "../api/release.ts";
import { connectionCode, explain } from "../explain.ts";
import { CommandFailure, type ExitCode, exitCodes } from "../failure.ts";
import { bytesText, durationText, timeText } from "../output/numbers.ts";
import { readSignIn } from "../state/sign-in.ts";
import type { Command, Run } from "./command.ts";

/** Below this a backup cannot keep its caches. */
const minFreeBytes = 100 * 1024 * 1024;

/** Tokens and signatures carry times. The service refuses what differs by more. */
const maxClockDifferenceMs = 5 * 60_000;

/** A service on the other side of the world answers sooner. */
const probeMs = 15_000;

interface Finding {
  readonly check: string;
  readonly isWell: boolean;
  readonly text: string;
  readonly advice: string | null;
}

export const doctor: Command = async (run) => {
  let worst: ExitCode = exitCodes.done;
  for await (const { check, isWell, text, advice } of findings(run)) {
    run.data({ type: "check", check, ok: isWell, message: text, advice });
    run.say(`${isWell ? "ok  " : "FAIL"}  ${check}: ${text}`);
    if (advice !== null) run.say(`      ${advice}`);
    if (!isWell) worst = exitCodes.failed;
  }
  return worst;
};

async function* findings(run: Run): AsyncGenerator<Finding> {
  yield disk(run);
  let connection: Connection;
  try {
    const signIn = readSignIn(run.environment);
    if (signIn === null) throw new CommandFailure(run.texts.notSignedIn, { advice: run.texts.adviceLogin });
    connection = connect(run, "writing");
    yield well("sign-in", `${signIn.url}, ${signIn.identity.kind}`);
  } catch (error) {
    yield failed("sign-in", run, error);
    return;
  }
  try {
    const probe = await probeService(connection);
    const network = networkFinding(connection, probe);
    yield network;
    if (!network.isWell) return;
    yield clockFinding(run, probe);
    const trust = trustFinding(run, probe);
    yield trust;
    if (trust.isWell) yield* credential(run, connection);
  } finally {
    connection.close();
  }
}

function disk(run: Run): Finding {
  const { stateFolder, cacheFolder } = run.environment;
  const { language } = run.environment;
  try {
    mkdirSync(cacheFolder, { recursive: true, mode: 0o700 });
    const free = run.freeBytes(cacheFolder);
    const mode = statSync(stateFolder, { throwIfNoEntry: false })?.mode ?? 0o700;
    if (free < minFreeBytes)
      return bad(
        "disk",
        `the disk of ${cacheFolder} is full: ${bytesText(free, language)} are free`,
        "Free some space, or name another folder with EMANET_CACHE_DIR.",
      );
    if ((mode & 0o077) !== 0 && run.environment.platform !== "win32")
      return bad("disk", `others can read ${stateFolder}, which holds secrets`, `Run: chmod 700 ${stateFolder}`);
    return well("disk", `${bytesText(free, language)} are free`);
  } catch (error) {
    return failed("disk", run, error);
  }
}

/** What a first look at the service found. No credential is sent. */
interface Probe {
  /** Why there is no connection at all: a code of the system. */
  readonly network: string | null;
  /** Why its certificate is not trusted: a code of TLS. */
  readonly trust: string | null;
  readonly serviceTime: number | null;
  readonly validFrom: number | null;
  readonly validTo: number | null;
}

async function probeService({ signIn }: Connection): Promise<Probe> {
  const nothing = { network: null, trust: null, serviceTime: null, validFrom: null, validTo: null };
  const url = new URL("/health/live", signIn.url);
  try {
    await lookup(url.hostname.replaceAll(/[[\]]/g, ""));
  } catch (error) {
    return { ...nothing, network: connectionCode(error) };
  }
  if (url.protocol === "http:") return nothing;
  try {
    return { ...nothing, ...(await look(url, signIn.ca)) };
  } catch (error) {
    return { ...nothing, network: connectionCode(error) };
  }
}

/** Connects whatever the certificate is, and says whether it would be trusted. */
function look(url: URL, ca: string | null): Promise<Omit<Probe, "network">> {
  return new Promise((resolve, reject) => {
    const options = { rejectUnauthorized: false, timeout: probeMs, agent: false as const };
    const request = https.request(url, { ...options, ...(ca !== null && { ca }) }, (response) => {
      const socket = response.socket as unknown as {
        readonly authorizationError?: unknown;
        getPeerCertificate(): { readonly valid_from?: string; readonly valid_to?: string };
      };
      const { valid_from: from, valid_to: to } = socket.getPeerCertificate();
      const time = (text: string | undefined) =>
        text === undefined || Number.isNaN(Date.parse(text)) ? null : Date.parse(text);
      const { authorizationError } = socket;
      resolve({
        trust: authorizationError === null || authorizationError === undefined ? null : codeOf(authorizationError),
        serviceTime: time(response.headers.date),
        validFrom: time(from),
        validTo: time(to),
      });
      response.destroy();
    });
    request.on("timeout", () => request.destroy(new DOMException("no answer", "TimeoutError")));
    request.on("error", reject);
    request.end();
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error ? connectionCode(error) : String(error);
}

function networkFinding({ signIn }: Connection, { network }: Probe): Finding {
  if (network === null) return well("network", signIn.url);
  const { host } = new URL(signIn.url);
  const words: Readonly<Record<string, string>> = {
    ENOTFOUND: `the name ${host} is not known: this machine has no network or no name server, or the address is wrong`,
    EAI_AGAIN: "names cannot be looked up: this machine has no network or no name server",
    ECONNREFUSED: `${host} is there, but no service answers at this port`,
    ETIMEDOUT: `${host} does not answer: a firewall may be in between`,
    ENETUNREACH: "this machine has no network",
    EHOSTUNREACH: `there is no way to ${host}: this machine may have no network`,
  };
  return bad(
    "network",
    `${words[network] ?? `${host} cannot be reached`} (${network})`,
    "Check the cable, the name server, the firewall and the address.",
  );
}

function clockFinding(run: Run, { serviceTime, validFrom, validTo }: Probe): Finding {
  const { language } = run.environment;
  const now = run.now();
  const isOutside = (validFrom !== null && now < validFrom) || (validTo !== null && now > validTo);
  const difference = serviceTime === null ? 0 : now - serviceTime;
  if (Math.abs(difference) <= maxClockDifferenceMs && !(isOutside && serviceTime === null))
    return well("clock", timeText(now, language));
  const amount = durationText(Math.abs(difference), language);
  const direction = difference > 0 ? "ahead of" : "behind";
  return bad(
    "clock",
    `the clock of this machine is ${amount} ${direction} the service's: it says ${timeText(now, language)}`,
    "Set the clock, and let it be set by the network (NTP).",
  );
}

function trustFinding(run: Run, { trust, validFrom, validTo }: Probe): Finding {
  if (trust === null) return well("certificate", "trusted");
  const { language } = run.environment;
  if (trust === "CERT_HAS_EXPIRED" || trust === "CERT_NOT_YET_VALID") {
    const times = [validFrom, validTo].map((time) => (time === null ? "?" : timeText(time, language))).join(" … ");
    return bad(
      "certificate",
      `the certificate of the service is valid ${times} (${trust})`,
      "If the clock of this machine is right, the operator of the service must renew it.",
    );
  }
  const advice =
    "Is this the right address? If the service has an authority of its own, name its file with --ca-file or EMANET_CA_FILE. A proxy that opens TLS connections has one too.";
  return bad("certificate", `the certificate authority of the service is not known to this machine (${trust})`, advice);
}

async function* credential(run: Run, connection: Connection): AsyncGenerator<Finding> {
  try {
    const { scopes } = await connection.claims();
    if (!scopes.includes("snapshots:write")) {
      yield bad("credential", "it may not write snapshots", "Give the OAuth client the scope snapshots:write.");
      return;
    }
    yield well("credential", scopes.join(" "));
  } catch (error) {
    yield credentialFailed(run, error);
    return;
  }
  const agent = storedAgent(connection);
  if (agent === null) {
    yield well("agent", "not registered yet: the first backup does it");
    return;
  }
  try {
    const { keys } = await connection.client.agents.getKeys({ id: agent.id });
    yield well("agent", `${agent.id}, ${keys.length} vaults`);
    const newest = newerVersion(run, connection.folder);
    yield well("version", newest === null ? run.version : run.texts.newerVersion(newest, run.version));
  } catch (error) {
    if (error instanceof ProblemError && error.status === 404)
      yield bad(
        "agent",
        "the service does not know this agent any more: it was revoked",
        `Run \`emanet login\` again. ${path.basename(connection.folder)}`,
      );
    else yield failed("agent", run, error);
  }
}

function credentialFailed(run: Run, error: unknown): Finding {
  const isRefused = error instanceof OauthError || (error instanceof ProblemError && error.status === 401);
  if (!isRefused) return failed("credential", run, error);
  const code = error instanceof OauthError ? error.error : error.code;
  return bad(
    "credential",
    `the service refuses the credential: it has expired, was revoked or is wrong (${code})`,
    "Run `emanet login` again, or take a new secret of the OAuth client.",
  );
}

function well(check: string, text: string): Finding {
  return { check, isWell: true, text, advice: null };
}

function bad(check: string, text: string, advice: string): Finding {
  return { check, isWell: false, text, advice };
}

function failed(check: string, run: Run, error: unknown): Finding {
  const { message, advice } = explain(error, run);
  return { check, isWell: false, text: message, advice };
}

/** Two services as separate processes on one database, for guarantees across processes. */

import { readFile } from "node:fs/promises";
import { startProgram } from "./child.ts";
import { type Cleanup, testDatabase } from "./database.ts";
import { sendHttp1, type TestAnswer } from "./https.ts";
import { type FirstRunFile, noSignInLimits, readFirstRun } from "./people.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { until } from "./until.ts";

export interface Peer {
  readonly url: string;
  readonly ca: string;
  post(path: string, call?: PeerCall): Promise<TestAnswer>;
  get(path: string, call?: PeerCall): Promise<TestAnswer>;
}

interface PeerCall {
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Starts both; they share master key and public URL, as processes of one service must. */
export async function startTwoServices(
  cleanup: Cleanup,
): Promise<{ readonly peers: readonly [Peer, Peer]; readonly firstRun: FirstRunFile }> {
  const { target } = await testDatabase(cleanup);
  const shared = {
    EMANET_PROFILE: "sandbox",
    EMANET_LISTEN: "127.0.0.1:0",
    EMANET_PUBLIC_URL: "https://emanet.example",
    EMANET_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
    EMANET_LIMIT_ANONYMOUS: "1000000/60",
    EMANET_LOG_LEVEL: "error",
    ...noSignInLimits,
  };
  const startOne = async () => {
    const dataDir = await temporaryFolder(cleanup);
    const settings = JSON.stringify({ ...shared, EMANET_DATA_DIR: dataDir });
    const program = startProgram(cleanup, "serve", { args: [settings, JSON.stringify(target)] });
    const url = (await program.line()).replace("ready ", "");
    const firstRun = await readFirstRun(dataDir);
    return { peer: peer(url, await readFile(firstRun.ca_file, "utf8")), firstRun };
  };
  const [one, other] = [await startOne(), await startOne()];
  return { peers: [one.peer, other.peer], firstRun: other.firstRun };
}

/** Asks until the answer has this code or status: another process learns of a change within a second, not at once. */
export async function untilAnswered(
  expected: string | number,
  ask: () => Promise<Pick<TestAnswer, "status" | "body">>,
): Promise<void> {
  await until(async () => {
    const { status, body } = await ask();
    const { code } = body.length === 0 ? {} : (JSON.parse(body.toString()) as { code?: unknown });
    return expected === status || expected === code ? true : null;
  });
}

function peer(url: string, ca: string): Peer {
  const call = (method: string, path: string, { json, headers }: PeerCall = {}) =>
    sendHttp1(`${url}${path}`, ca, {
      method,
      headers: { ...(json !== undefined && { "content-type": "application/json" }), ...headers },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    });
  return { url, ca, post: (path, one) => call("POST", path, one), get: (path, one) => call("GET", path, one) };
}

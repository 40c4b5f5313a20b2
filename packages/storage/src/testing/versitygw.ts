/**
 * A real S3-compatible server on loopback for tests: versitygw, its objects in a folder.
 *
 * The program is taken from the PATH, else from `.cache/`, else built there from the Go module that `versitygw/go.mod`
 * names by exact version (about a minute, once). Without Go the tests are skipped and say so; in CI that is a failure,
 * because a skipped suite checks nothing.
 *
 *   node packages/storage/src/testing/versitygw.ts     builds it ahead, where a test's own time limit is shorter
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import net from "node:net";
import { fileURLToPath } from "node:url";
import { findGoProgram } from "./go-program.ts";

const program = {
  name: "versitygw",
  version: "v1.8.0",
  moduleFolder: fileURLToPath(new URL("./versitygw", import.meta.url)),
  mainPackage: "github.com/versity/versitygw/cmd/versitygw",
  versionArguments: ["--version"],
};

/** It listens within a second; a machine under load may take many. */
const startLimitMs = 30_000;

/** Another process may take the free port before the server does. */
const startAttempts = 5;

export interface Versitygw {
  readonly endpoint: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Ends the server at once, as a power cut would, and waits until it is gone. */
  kill(): Promise<void>;
}

/** Path of the program, or null where it is not there and cannot be built. Throws in CI instead of null. */
export async function findVersitygw(): Promise<string | null> {
  const found = await findGoProgram(program);
  if (found !== null) return found;
  if (process.env.CI) throw new Error("the S3 tests need versitygw on the PATH, or Go to build it");
  return null;
}

/** Starts a server over a folder, on a free port or on the given one. */
export async function startVersitygw(program: string, folder: string, port?: number): Promise<Versitygw> {
  for (let attempt = 1; ; attempt += 1) {
    const chosen = port ?? (await freePort());
    const started = await start(program, folder, chosen);
    if (started !== null) return started;
    if (port !== undefined || attempt === startAttempts) throw new Error(`versitygw did not start on port ${chosen}`);
  }
}

async function start(program: string, folder: string, port: number): Promise<Versitygw | null> {
  const credentials = { accessKeyId: "test-access", secretAccessKey: "test-secret-not-a-real-one" };
  const environment = { ROOT_ACCESS_KEY: credentials.accessKeyId, ROOT_SECRET_KEY: credentials.secretAccessKey };
  const child = spawn(program, ["--quiet", "--keep-alive", "--port", `127.0.0.1:${port}`, "posix", folder], {
    env: { PATH: process.env.PATH, ...environment },
    // Its errors come through us: with our own output open in it, a run would wait for it after a crash of this process.
    stdio: ["ignore", "ignore", "pipe"],
  });
  child.stderr.on("data", (text: Buffer) => process.stderr.write(text));
  const exited = once(child, "exit");
  const endWithUs = () => child.kill("SIGKILL");
  process.once("exit", endWithUs);
  const kill = async () => {
    child.kill("SIGKILL");
    await exited;
    process.off("exit", endWithUs);
  };
  if (await listens(child, port)) return { endpoint: `http://127.0.0.1:${port}`, credentials, kill };
  await kill();
  return null;
}

async function listens(child: ChildProcess, port: number): Promise<boolean> {
  const deadline = Date.now() + startLimitMs;
  while (child.exitCode === null && child.signalCode === null && Date.now() < deadline) {
    if (await connects(port)) return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return false;
}

function connects(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = net.connect(port, "127.0.0.1");
  socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  return promise.finally(() => socket.destroy());
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

if (import.meta.main) await findVersitygw();

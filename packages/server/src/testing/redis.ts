/** A Valkey or Redis server of a test's own: a free port on loopback, nothing on disk. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { openRedis, type RedisConnection } from "../kernel/limits/redis-connection.ts";
import { type Cleanup, silentLog } from "./database.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export interface TestRedis {
  readonly url: string;
  /** Kills the server as a crash would. */
  kill(): Promise<void>;
  /** Starts it again on the same port, empty. */
  start(): Promise<void>;
}

/** Starts the server that {@link needs} found; ended with the test. */
export async function startRedis(cleanup: Cleanup, command: string): Promise<TestRedis> {
  const folder = await temporaryFolder(cleanup);
  const port = await freePort();
  let running: { kill(): Promise<void> } | null = null;
  const start = async () => {
    const options = ["--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder];
    // Its errors come through us: with our own output open in it, a run would wait for it after a crash of this process.
    const child = spawn(command, options.map(String), { stdio: ["ignore", "pipe", "pipe"] });
    child.stderr.on("data", (text: Buffer) => process.stderr.write(text));
    const ended = once(child, "exit");
    running = {
      kill: async () => {
        child.kill("SIGKILL");
        await ended;
      },
    };
    let printed = "";
    for await (const text of child.stdout) {
      printed += String(text);
      if (/Ready to accept connections/i.test(printed)) break;
    }
    if (!/Ready to accept connections/i.test(printed)) throw new Error(`the store did not start:\n${printed}`);
  };
  const kill = async () => {
    await running?.kill();
    running = null;
  };
  cleanup.after(kill);
  await start();
  return { url: `redis://127.0.0.1:${port}/0`, kill, start };
}

/** A connection to it that answers. */
export async function connected(cleanup: Cleanup, { url }: TestRedis): Promise<RedisConnection> {
  const up = Promise.withResolvers<void>();
  const connection = await openRedis({ url, log: silentLog, onState: (isUp) => isUp && up.resolve() });
  cleanup.after(() => connection.close());
  await up.promise;
  return connection;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/**
 * The connection to Valkey or Redis. It is *up* or *down*. A command that fails or takes too long makes it down for a short
 * pause, in which all commands fail at once; then the next command tries again. The client reconnects without end, so a
 * store that comes back is used without a restart. Each change of state is logged once.
 */

import { createHash } from "node:crypto";
import { monotonicMs } from "../clock.ts";
import { errorFields, type Log } from "../log.ts";
import { StoreDown } from "./store.ts";

/**
 * A script takes a tenth of a millisecond; a store that needs this long does not work. A shorter time would fail while many
 * sign-ins keep both cores of a small machine busy.
 */
const commandTimeoutMs = 2_000;

/** After a failure, so that requests do not queue up behind a store that hangs. */
const pauseAfterFailureMs = 500;

/** Longer than a connection in one data centre takes, also on a busy machine. */
const connectTimeoutMs = 2_000;

/** The longest pause between two attempts to reconnect. */
const maxReconnectPauseMs = 1_000;

/** Commands that wait for an answer; more means that the store hangs. */
const maxQueuedCommands = 10_000;

export interface RedisConnection {
  /** Runs a script. Throws {@link StoreDown} for every kind of failure. */
  run(script: RedisScript, keys: readonly string[], values: readonly string[]): Promise<unknown>;
  close(): Promise<void>;
}

export interface RedisScript {
  readonly text: string;
  readonly sha: string;
}

export function redisScript(text: string): RedisScript {
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}

export interface RedisConnectionOptions {
  readonly url: string;
  readonly log: Log;
  readonly onState: (up: boolean) => void;
}

/** Starts to connect and does not wait for it: the service must start without its store. */
export async function openRedis({ url, log, onState }: RedisConnectionOptions): Promise<RedisConnection> {
  // Most services have no shared store, and the client would be a tenth of the loaded code.
  const { createClient } = await import("@redis/client");
  const client = createClient({
    url,
    name: "emanet",
    RESP: 2,
    disableOfflineQueue: true,
    commandsQueueMaxLength: maxQueuedCommands,
    socket: {
      connectTimeout: connectTimeoutMs,
      reconnectStrategy: (attempts) => Math.min(50 * 2 ** Math.min(attempts, 10), maxReconnectPauseMs),
    },
  });
  let up: boolean | null = null;
  let pausedUntil = 0;
  const setState = (now: boolean, error?: unknown) => {
    if (up === now) return;
    up = now;
    onState(now);
    if (now) log.info("limit_store_up");
    else log.error("limit_store_down", errorFields(error));
  };
  client.on("error", (error: unknown) => setState(false, error));
  client.on("ready", () => setState(true));
  const connecting = client.connect().catch((error: unknown) => setState(false, error));
  const send = async ({ text, sha }: RedisScript, keys: readonly string[], values: readonly string[]) => {
    const rest = [String(keys.length), ...keys, ...values];
    try {
      return await client.sendCommand(["EVALSHA", sha, ...rest]);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
      return client.sendCommand(["EVAL", text, ...rest]);
    }
  };
  return {
    async run(script, keys, values) {
      if (!client.isReady || monotonicMs() < pausedUntil) throw new StoreDown(null);
      try {
        const answer = await withTimeout(send(script, keys, values));
        setState(true);
        return answer;
      } catch (error) {
        pausedUntil = monotonicMs() + pauseAfterFailureMs;
        setState(false, error);
        throw new StoreDown(error);
      }
    },
    async close() {
      client.destroy();
      await connecting;
    },
  };
}

async function withTimeout<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const tooLate = () => late.reject(new Error("no answer in time"));
  // A busy process runs timers before it reads from sockets. The answer may have arrived, so sockets are read first.
  const timer = setTimeout(() => setImmediate(() => setImmediate(tooLate)), commandTimeoutMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
    // A failure after the timeout has been reported already.
    work.catch(() => undefined);
  }
}

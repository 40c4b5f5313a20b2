/**
 * The connection to Valkey or Redis. It is *up* or *down*: a command that fails or takes too long makes it down for a
 * moment, in which nobody waits for it; then the next command tries again. It reconnects by itself for ever, so a store
 * that comes back is used again without a restart. Its coming and going is logged once each time.
 */

import { createHash } from "node:crypto";
import { monotonicMs } from "../clock.ts";
import { errorFields, type Log } from "../log.ts";
import { StoreDown } from "./store.ts";

/**
 * A script takes a tenth of a millisecond; a store that needs this long for one is as good as away. Shorter, and a crowd
 * of sign-ins on a machine with two busy cores makes a store look away that is only waiting for its turn.
 */
const commandPatienceMs = 2_000;

/** After a failure, so that requests do not queue up behind a store that hangs. */
const pauseAfterFailureMs = 500;

/** Connecting; also how long a stop waits for answers that are still due. */
const connectPatienceMs = 2_000;

/** Attempts to reconnect come at this pace at most. */
const maxReconnectPauseMs = 1_000;

/** Commands waiting for an answer at most; more means that the store hangs. */
const maxQueuedCommands = 10_000;

export interface RedisConnection {
  /** Runs a script. Throws {@link StoreDown} whatever the reason is that it did not. */
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

/** Begins to connect; does not wait for it, because a service must start without its store. */
export async function openRedis({ url, log, onState }: RedisConnectionOptions): Promise<RedisConnection> {
  // Most services have no store, and its client is a tenth of what they would load.
  const { createClient } = await import("@redis/client");
  const client = createClient({
    url,
    name: "emanet",
    RESP: 2,
    disableOfflineQueue: true,
    commandsQueueMaxLength: maxQueuedCommands,
    socket: {
      connectTimeout: connectPatienceMs,
      reconnectStrategy: (attempts) => Math.min(50 * 2 ** Math.min(attempts, 10), maxReconnectPauseMs),
    },
  });
  let up: boolean | null = null;
  let restUntil = 0;
  const say = (now: boolean, error?: unknown) => {
    if (up === now) return;
    up = now;
    onState(now);
    if (now) log.info("limit_store_up");
    else log.error("limit_store_down", errorFields(error));
  };
  client.on("error", (error: unknown) => say(false, error));
  client.on("ready", () => say(true));
  const connecting = client.connect().catch((error: unknown) => say(false, error));
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
      if (!client.isReady || monotonicMs() < restUntil) throw new StoreDown(null);
      try {
        const answer = await inTime(send(script, keys, values));
        say(true);
        return answer;
      } catch (error) {
        restUntil = monotonicMs() + pauseAfterFailureMs;
        say(false, error);
        throw new StoreDown(error);
      }
    },
    async close() {
      client.destroy();
      await connecting;
    },
  };
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const tooLate = () => late.reject(new Error("no answer in time"));
  // A busy process sees its timers before what has arrived meanwhile: that is read first, and may be the answer.
  const timer = setTimeout(() => setImmediate(() => setImmediate(tooLate)), commandPatienceMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
    // Its own failure, when it comes after the time, has been told already.
    work.catch(() => undefined);
  }
}

/** Repeated attacks against a server in a separate process: its memory does not grow. */

import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { describe, type TestContext, test } from "node:test";
import { scaled } from "../../testing/scale.ts";
import type { TransportLimits } from "./server.ts";
import { field, flag, frame, frameType, greeting, requestBlock, uint32 } from "./testing/http2-frames.ts";
import { connectRaw, type RawConnection } from "./testing/transport.ts";

const mebibyte = 1024 * 1024;

/** What a process may grow by while it is busy, however much is sent; the attacks send many times more. */
const growthMax = 100 * mebibyte;

/** Enough for a leak of 4 MiB per attack to be seen. */
const rounds = scaled(25, 500);

/** Otherwise garbage is kept as long as there is free memory, and the figures mean nothing. */
const smallHeap = ["--max-old-space-size=64", "--max-semi-space-size=2"];

interface Victim {
  connect(alpn: "h2" | "http/1.1"): Promise<RawConnection>;
  report(): Promise<{ peakBytes: number; connections: number }>;
}

async function startVictim(context: TestContext, limits: Partial<TransportLimits>): Promise<Victim> {
  const script = new URL("./testing/process.ts", import.meta.url);
  const child: ChildProcess = fork(script, [JSON.stringify(limits)], { execArgv: smallHeap });
  context.after(() => child.disconnect());
  const [{ port, ca }] = (await once(child, "message")) as [{ port: number; ca: string }];
  return {
    connect: (alpn) => connectRaw({ port, ca, origin: `https://127.0.0.1:${port}` }, alpn),
    report: async () => {
      child.send("report");
      const [report] = await once(child, "message");
      return report as { peakBytes: number; connections: number };
    },
  };
}

/** Sends bytes until the server closes or all is sent; waits for the socket, so that the sender stays small too. */
async function pour(raw: RawConnection, chunk: Buffer, times: number): Promise<void> {
  for (let count = 0; count < times && !raw.socket.destroyed; count += 1) {
    if (raw.socket.write(chunk)) continue;
    await Promise.race([new Promise((resolve) => raw.socket.once("drain", resolve)), raw.closed]);
  }
}

const start = frame(frameType.headers, flag.endStream, 1, requestBlock());
const resets = Buffer.concat(
  Array.from({ length: 5000 }, (_, index) => [
    frame(frameType.headers, flag.endStream | flag.endHeaders, 2 * index + 1, requestBlock()),
    frame(frameType.rstStream, 0, 2 * index + 1, uint32(8)),
  ]).flat(),
);

const attacks: Record<string, { alpn: "h2" | "http/1.1"; first: Buffer; flood: Buffer; times: number }> = {
  "rapid reset": { alpn: "h2", first: greeting, flood: resets, times: 1 },
  SETTINGS: { alpn: "h2", first: greeting, flood: many(frame(frameType.settings, 0, 0)), times: 20 },
  PING: { alpn: "h2", first: greeting, flood: many(frame(frameType.ping, 0, 0, Buffer.alloc(8))), times: 20 },
  CONTINUATION: {
    alpn: "h2",
    first: Buffer.concat([greeting, start]),
    flood: frame(frameType.continuation, 0, 1, field("x-a", "a".repeat(16_000))),
    times: 500,
  },
  "headers over HTTP/1.1": {
    alpn: "http/1.1",
    first: Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n"),
    flood: Buffer.from(`X-A: ${"a".repeat(100_000)}\r\n`),
    times: 80,
  },
  "a refused body over HTTP/1.1": {
    alpn: "http/1.1",
    first: Buffer.from("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"),
    flood: Buffer.from(`10000\r\n${"a".repeat(0x10000)}\r\n`),
    times: 150,
  },
};

function many(one: Buffer): Buffer {
  return Buffer.concat(Array(10_000).fill(one));
}

describe("memory", () => {
  test("floods of each kind, over and over, leave the process as small as before, and no connection open", async (context) => {
    const victim = await startVictim(context, { lingerMs: 100, lingerBytes: mebibyte });
    const before = await victim.report();
    for (const [name, { alpn, first, flood, times }] of Object.entries(attacks)) {
      for (let round = 0; round < rounds; round += 1) {
        const raw = await victim.connect(alpn);
        raw.socket.write(first);
        await pour(raw, flood, times);
        raw.socket.destroy();
      }
      const after = await victim.report();
      const grown = (after.peakBytes - before.peakBytes) / mebibyte;
      assert.ok(after.peakBytes - before.peakBytes < growthMax, `${name}: ${grown.toFixed()} MiB more`);
    }
    while ((await victim.report()).connections > 0);
  });

  test("400 MiB of unread bodies do not stay in memory", async (context) => {
    const victim = await startVictim(context, { unreadBytes: 16 * mebibyte, sessionCheckMs: 5 });
    const before = await victim.report();
    const hold = requestBlock("POST", [], "/hold");
    const body = Buffer.alloc(16_000);
    for (let session = 0; session < 4; session += 1) {
      const raw = await victim.connect("h2");
      raw.socket.write(Buffer.concat([greeting, frame(frameType.settings, flag.ack, 0)]));
      for (let stream = 1; stream < 60 && !raw.socket.destroyed; stream += 2) {
        raw.socket.write(frame(frameType.headers, flag.endHeaders, stream, hold));
        await pour(raw, frame(frameType.data, 0, stream, body), 200);
      }
      await raw.closed;
    }
    const after = await victim.report();
    const grown = (after.peakBytes - before.peakBytes) / mebibyte;
    assert.ok(after.peakBytes - before.peakBytes < growthMax, `${grown.toFixed()} MiB more`);
  });
});

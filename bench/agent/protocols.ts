/**
 * `npm run bench:protocols`: HTTP/1.1 over kept connections beside HTTP/2 over one connection, for what an agent sends: packs, small calls, and both at the
 * same time. The server is the transport of the service without the service behind it, in a process of its own; the line between them delays every byte.
 *
 *   npm run --silent bench:protocols -- [--delay 30] [--runs 5]
 *
 * Prints medians of the runs, which alternate: MB/s or calls a second, CPU seconds of the client, and the times of small calls while packs are sent.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import http2 from "node:http2";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { httpsFetch } from "../../packages/agent/src/api/https-fetch.ts";
import { startTransport } from "../../packages/server/src/kernel/transport/testing/transport.ts";
import { startDelayedLine } from "./delayed-line.ts";

const { values } = parseArgs({
  options: {
    delay: { type: "string", default: "30" },
    runs: { type: "string", default: "5" },
    serve: { type: "boolean", default: false },
  },
});

/** The size of an agent's packs. */
const packBytes = 16 * 1024 * 1024;
/** What an agent sends of a pack at a time. */
const pieceBytes = 64 * 1024;
const packs = 16;
const packsAtOnce = 2;
const calls = 1200;
/** Uploads of taxpayers at a time. */
const callsAtOnce = 12;
const callBody = Buffer.alloc(200, 1);
const piece = Buffer.alloc(pieceBytes, 2);

interface Client {
  readonly name: string;
  call(): Promise<void>;
  pack(): Promise<void>;
  close(): void;
}

await (values.serve ? serve() : measure());

/** Reads every body to its end and answers a few bytes. */
async function serve(): Promise<void> {
  const context = { after: () => undefined } as unknown as Parameters<typeof startTransport>[0];
  const { port, ca } = await startTransport(context, {
    limits: { connectionsPerAddress: 1000 },
    handler: (request, response) => {
      request.on("data", () => undefined);
      request.on("end", () => void response.end("ok"));
    },
  });
  const line = await startDelayedLine(port, Number(values.delay) / 2);
  console.log(JSON.stringify({ port: line.port, ca }));
}

async function measure(): Promise<void> {
  const server = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1), "--serve"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [line] = (await once(createInterface(server.stdout), "line")) as [string];
    const { port, ca } = JSON.parse(line) as { port: number; ca: string };
    const url = `https://127.0.0.1:${port}`;
    const results = new Map<string, number[]>();
    for (let run = 0; run < Number(values.runs); run++) {
      const makers = [() => overHttp1(url, ca), () => overHttp2(url, ca)];
      for (const make of run % 2 === 0 ? makers : makers.toReversed()) await measureOne(make(), results);
    }
    console.log(`${values.delay} ms of round trip, medians of ${values.runs} runs`);
    for (const [name, all] of [...results].sort(([a], [b]) => a.localeCompare(b)))
      console.log(`${name.padEnd(52)} ${quantile(all, 0.5).toFixed(2)}`);
  } finally {
    server.kill("SIGKILL");
  }
}

async function measureOne(client: Client, results: Map<string, number[]>): Promise<void> {
  const note = (what: string, value: number) => {
    const name = `${what}, ${client.name}`;
    results.set(name, [...(results.get(name) ?? []), value]);
  };
  await client.call();
  const timed = async (what: string, amount: number, work: () => Promise<void>) => {
    const [began, before] = [performance.now(), process.cpuUsage()];
    await work();
    const { user, system } = process.cpuUsage(before);
    note(what, amount / ((performance.now() - began) / 1000));
    note(`${what}, CPU seconds of the client`, (user + system) / 1e6);
  };
  await timed("packs, MB/s", (packs * packBytes) / 1e6, () => repeat(packs, packsAtOnce, () => client.pack()));
  await timed("small calls a second", calls, () => repeat(calls, callsAtOnce, () => client.call()));
  const times: number[] = [];
  let isSending = true;
  const sending = repeat(packs, packsAtOnce, () => client.pack()).finally(() => {
    isSending = false;
  });
  while (isSending) {
    const began = performance.now();
    await client.call();
    times.push(performance.now() - began);
  }
  await sending;
  note("small call beside packs, ms, median", quantile(times, 0.5));
  note("small call beside packs, ms, p95", quantile(times, 0.95));
  client.close();
}

async function repeat(count: number, atOnce: number, work: () => Promise<void>): Promise<void> {
  const next = Array.from({ length: count }).keys();
  const worker = async () => {
    for (const _ of next) await work();
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

function overHttp1(url: string, ca: string): Client {
  const transport = httpsFetch({ ca, userAgent: "bench" });
  const send = async (body: RequestInit["body"], length: number) => {
    const headers = { "content-length": String(length) };
    await (await transport.fetch(url, { method: "POST", body: body ?? null, headers })).arrayBuffer();
  };
  return {
    name: "HTTP/1.1",
    call: () => send(callBody, callBody.length),
    pack: () => send(ReadableStream.from(pieces()), packBytes),
    close: () => transport.close(),
  };
}

async function* pieces(): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < packBytes; at += pieceBytes) yield piece;
}

function overHttp2(url: string, ca: string): Client {
  const session = http2.connect(url, { ca });
  const send = async (body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, length: number) => {
    const stream = session.request({ ":method": "POST", ":path": "/", "content-length": String(length) });
    const ended = once(stream, "end");
    stream.resume();
    for await (const chunk of body) if (!stream.write(chunk)) await once(stream, "drain");
    stream.end();
    await ended;
  };
  return {
    name: "HTTP/2",
    call: () => send([callBody], callBody.length),
    pack: () => send(pieces(), packBytes),
    close: () => session.close(),
  };
}

function quantile(all: readonly number[], share: number): number {
  return all.toSorted((a, b) => a - b)[Math.floor(all.length * share)] ?? 0;
}

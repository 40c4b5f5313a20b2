/**
 * The server that `npm run bench:api` compares the service with, in its own process: Fastify with the same certificate and both
 * versions of HTTP. It writes a body to a file and syncs it, sends files and ranges of them, and lists rows with one prepared
 * statement. It checks, hashes, compresses and encrypts nothing. It prints `ready <url>`.
 *
 *   bare-file-server.ts <folder of the certificate> <database target as JSON> <folder of the files>
 */

import { createReadStream, createWriteStream, readFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import Fastify from "fastify";
import pg from "pg";

const [certificate = "", database = "{}", folder = ""] = process.argv.slice(2);

/** As many as the service has. */
const connections = 10;

/** As the service has it. Node's own five seconds would close connections while the service gets its requests. */
const keepAliveMs = 72_000;

/** As the spool of the service writes. */
const writeBytes = 1024 * 1024;

/** As the service hands to its transport. */
const readBytes = 64 * 1024;

const pool = new pg.Pool({ ...JSON.parse(database), max: connections, ssl: false });
const app = Fastify({
  http2: true,
  https: {
    allowHTTP1: true,
    http1Options: { keepAliveTimeout: keepAliveMs },
    cert: readFileSync(path.join(certificate, "server.pem")),
    key: readFileSync(path.join(certificate, "server.key")),
  },
});

app.addContentTypeParser("*", (_request, payload, done) => done(null, payload));

app.post<{ Params: { "*": string }; Body: IncomingMessage }>("/files/*", async ({ params, body }, reply) => {
  const file = createWriteStream(path.join(folder, params["*"]), { flush: true, highWaterMark: writeBytes });
  await pipeline(body, file);
  return reply.code(201).send({ bytes: file.bytesWritten });
});

app.get<{ Params: { "*": string } }>("/files/*", async ({ params, headers: { range } }, reply) => {
  const file = path.join(folder, params["*"]);
  const { size } = await stat(file);
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? [];
  const [start, end] = from === undefined ? [0, size - 1] : [Number(from), Number(to)];
  reply.header("content-type", "application/octet-stream").header("content-length", end - start + 1);
  if (from !== undefined) reply.code(206).header("content-range", `bytes ${start}-${end}/${size}`);
  return reply.send(createReadStream(file, { start, end, highWaterMark: readBytes }));
});

app.get("/snapshots", async () => {
  const text = "select * from bare.snapshots order by created_at desc, id desc limit 25";
  const { rows } = await pool.query({ name: "snapshots", text, values: [] });
  return { data: rows, next_cursor: null };
});

process.stdout.write(`ready ${await app.listen({ host: "127.0.0.1", port: 0 })}\n`);

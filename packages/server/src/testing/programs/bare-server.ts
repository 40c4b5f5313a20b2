/**
 * The server that `npm run bench:requests` compares the service with, in its own process: Fastify with the same certificate and both versions of
 * HTTP, and one prepared statement over the same socket to PostgreSQL. It checks, logs and limits nothing.
 * It prints `ready <url>`.
 *
 *   bare-server.ts <folder of the certificate> <database target as JSON>
 */

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import Fastify from "fastify";
import pg from "pg";

const [folder = "", database = "{}"] = process.argv.slice(2);

/** As many as the service has. */
const connections = 10;

/** As the service has it. Node's own five seconds would close connections while the service gets its requests. */
const keepAliveMs = 72_000;

const pool = new pg.Pool({ ...JSON.parse(database), max: connections, ssl: false });
const app = Fastify({
  http2: true,
  https: {
    allowHTTP1: true,
    http1Options: { keepAliveTimeout: keepAliveMs },
    cert: readFileSync(path.join(folder, "server.pem")),
    key: readFileSync(path.join(folder, "server.key")),
  },
});

app.get("/nothing", async () => ({ status: "ok" }));

app.get<{ Params: { id: string } }>("/one/:id", async ({ params }) => {
  const text = "select id, text, created_at from bare.notes where id = $1";
  const { rows } = await pool.query({ name: "one", text, values: [params.id] });
  return rows[0];
});

app.get("/list", async () => {
  const text = "select id, text, created_at from bare.notes order by created_at desc, id desc limit 25";
  const { rows } = await pool.query({ name: "list", text, values: [] });
  return { data: rows, next_cursor: null };
});

app.post<{ Body: { text: string } }>("/insert", async ({ body }, reply) => {
  const text = "insert into bare.notes (id, text, created_at) values ($1, $2, $3) returning id, text, created_at";
  const { rows } = await pool.query({ name: "insert", text, values: [randomUUID(), body.text, new Date()] });
  return reply.code(201).send(rows[0]);
});

process.stdout.write(`ready ${await app.listen({ host: "127.0.0.1", port: 0 })}\n`);

/**
 * The receiver of the benchmark, a process of its own: HTTPS on loopback. Requests for `/mute` are not answered between the messages
 * `hang` and `answer`, and are not counted. It counts arrivals and how
 * long after its `created_at` each event came, and answers questions of its parent: `reset`, `count` and `read`. The first {@link warmUp} arrivals
 * after a reset are not measured: connections are opened then.
 *
 *   receive.ts <folder with server.key and server.pem>
 */

import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import path from "node:path";

const folder = process.argv[2] ?? "";
/** A warm-up of connections and compiled code. */
const warmUp = 1_000;
let count = 0;
let firstMs = 0;
let lastMs = 0;
let lags: number[] = [];
let isHanging = false;
let held: (() => unknown)[] = [];

const read = (name: string) => readFileSync(path.join(folder, name));
const server = createServer(
  { key: read("server.key"), cert: read("server.pem"), keepAliveTimeout: 60_000 },
  (request, response) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => {
      text += chunk;
    });
    request.on("end", () => {
      const now = performance.timeOrigin + performance.now();
      const end = () => response.writeHead(200, { "content-length": "0" }).end();
      if (request.url === "/mute") {
        if (isHanging) held.push(end);
        else end();
        return;
      }
      end();
      count += 1;
      if (count === warmUp) firstMs = now;
      lastMs = now;
      const created = /"created_at":"([^"]+)"/.exec(text)?.[1];
      if (created !== undefined) lags.push(now - Date.parse(created));
    });
  },
);

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.({ port: typeof address === "object" && address !== null ? address.port : 0 });
});

process.on("message", (question) => {
  if (question === "reset") {
    count = 0;
    lags = [];
  }
  if (question === "hang" || question === "answer") {
    isHanging = question === "hang";
    if (!isHanging) for (const end of held) end();
    if (!isHanging) held = [];
  }
  const { user, system } = process.cpuUsage();
  const cpuMs = (user + system) / 1000;
  const perSecond = (count - warmUp) / ((lastMs - firstMs) / 1000);
  process.send?.({ count, perSecond, cpuMs, lags: question === "read" ? lags : [] });
});
process.on("disconnect", () => process.exit());

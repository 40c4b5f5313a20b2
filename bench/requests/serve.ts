/**
 * The service that is measured, in its own process: profile `local`, without limits that would refuse the load, and with the
 * notes of the tests as operations (`testing/notes.ts`), because they read one row, list, and write with audit and event.
 * It prints `ready <url> <ca file>` and answers the message `counts` with what it has sent to PostgreSQL so far.
 *
 *   serve.ts <settings as JSON> <database target as JSON> [bytes that it keeps of each request, to test a test]
 */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { readConfig } from "../../packages/server/src/config.ts";
import { endpoints } from "../../packages/server/src/endpoints.ts";
import type { Endpoint } from "../../packages/server/src/kernel/http/endpoint.ts";
import { start } from "../../packages/server/src/start.ts";
import { countMessages } from "../../packages/server/src/testing/message-counts.ts";
import { noteEndpoints } from "../../packages/server/src/testing/notes.ts";

const [settings = "{}", database = "{}", leakBytes = "0"] = process.argv.slice(2);

/** Above what any load here reaches. */
const unlimited = { count: 100_000_000, seconds: 60 };
const noLimits = {
  ...{ limitAnonymous: unlimited, limitPackage: unlimited, limitToken: unlimited, limitSnapshotsList: unlimited },
  ...{ limitSnapshotsCreate: unlimited, limitSnapshotsCreateHour: unlimited },
};

// Node offers it only behind a flag.
setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const kept: number[][] = [];
const bytesPerNumber = 8;

function leaking(endpoint: Endpoint): Endpoint {
  return {
    ...endpoint,
    handle(ctx, call) {
      kept.push(Array.from({ length: Number(leakBytes) / bytesPerNumber }, Math.random));
      return endpoint.handle(ctx, call);
    },
  };
}

const all = [...endpoints, ...noteEndpoints];
const counts = countMessages();
const running = await start({
  config: { ...readConfig(JSON.parse(settings)), ...noLimits },
  role: "all",
  database: JSON.parse(database),
  endpoints: leakBytes === "0" ? all : all.map(leaking),
});
process.stdout.write(`ready ${running.url} ${running.caFile}\n`);
process.on("message", (message) => {
  if (message !== "counts" && message !== "collect") return;
  if (message === "collect") collectGarbage();
  const { heapUsed: heapBytes, rss, heapTotal, arrayBuffers } = process.memoryUsage();
  process.send?.({ ...counts(), heapBytes, residentBytes: rss, heapTotalBytes: heapTotal, bufferBytes: arrayBuffers });
});
process.on("SIGTERM", () => void running.stop().then(() => process.exit(0)));

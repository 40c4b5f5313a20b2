/**
 * A transport in a separate process, for tests that measure its memory. It sends `{ port, ca }` to the parent. To every
 * message it answers with the most memory the process ever had (bytes) and the number of open connections.
 * Requests for `/hold` are never answered nor read.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { systemClock, systemRandom } from "../../clock.ts";
import { openLocalAuthority } from "../certificates.ts";
import { createTransport } from "../server.ts";
import { silentLog, testProblem } from "./transport.ts";

const folder = mkdtempSync(path.join(tmpdir(), "emanet-process-"));
process.once("exit", () => rmSync(folder, { recursive: true }));
const certificates = await openLocalAuthority({
  folder,
  names: [],
  clock: systemClock,
  random: systemRandom,
  log: silentLog,
});
const transport = createTransport({
  mode: { kind: "tls", certificates },
  limits: JSON.parse(process.argv[2] ?? "{}"),
  log: silentLog,
  writeParserProblem: testProblem,
});
const server = transport.serverFactory((request, response) => {
  if (request.url !== "/hold") response.end("ok");
});
server.listen(0, "127.0.0.1", async () => {
  const { port } = server.address() as AddressInfo;
  process.send?.({ port, ca: await readFile(certificates.caFile ?? "", "utf8") });
});
// The parent is gone, or has seen enough; without a listener nothing keeps this process.
process.once("disconnect", () => void transport.drain(0));
process.on("message", () => {
  const { maxRSS } = process.resourceUsage();
  process.send?.({ peakBytes: maxRSS * 1024, connections: transport.counts().connections });
});

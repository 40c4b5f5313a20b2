/** The thread of {@link Lines}. */

import { parentPort } from "node:worker_threads";
import { type DelayedLine, startDelayedLine } from "../agent/delayed-line.ts";
import type { LineAnswer, LineRequest } from "./lines.ts";

const lines = new Map<number, DelayedLine>();

parentPort?.on("message", async (request: LineRequest) => {
  const line = request.kind === "open" ? await startDelayedLine(request.to, 0) : lines.get(request.port);
  if (line === undefined) throw new Error("there is no such line");
  if (request.kind === "delay") line.setDelay(request.delayMs);
  lines.set(line.port, line);
  const answer: LineAnswer = { port: line.port, sentBytes: line.sentBytes(), receivedBytes: line.receivedBytes() };
  parentPort?.postMessage(answer);
});

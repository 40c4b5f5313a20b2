/**
 * Sends a snapshot in one call, piece by piece, with pauses. It prints `begun` when it is connected, `sent` after the last, and
 * then `answer <status> <body>`, or `lost <code>` when the connection ended without an answer.
 *
 *   send-upload.ts <terms as JSON>
 */

import { readFileSync } from "node:fs";
import https from "node:https";
import { setTimeout as delay } from "node:timers/promises";

interface Terms {
  readonly url: string;
  readonly caFile: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodyFile: string;
  readonly pieceBytes: number;
  readonly pauseMs: number;
}

const terms = JSON.parse(process.argv[2] ?? "") as Terms;
const { headers, pieceBytes, pauseMs } = terms;
const body = readFileSync(terms.bodyFile);
const say = (line: string) => process.stdout.write(`${line}\n`);
const outgoing = https.request(`${terms.url}${terms.target}`, {
  ...{ method: "POST", headers, ca: readFileSync(terms.caFile), agent: false },
});
const { promise: ended, resolve: end } = Promise.withResolvers<string>();
outgoing.on("error", (error: NodeJS.ErrnoException) => end(`lost ${error.code ?? error.message}`));
outgoing.on("finish", () => say("sent"));
outgoing.on("response", (response) => {
  const chunks: Buffer[] = [];
  response.on("data", (chunk: Buffer) => chunks.push(chunk));
  response.on("error", (error: NodeJS.ErrnoException) => end(`lost ${error.code ?? error.message}`));
  response.on("end", () => end(`answer ${response.statusCode} ${Buffer.concat(chunks)}`));
});
outgoing.once("socket", (socket) => socket.once("secureConnect", () => say("begun")));
let isOver = false;
void ended.then(() => {
  isOver = true;
});
for (let at = 0; at < body.length && !isOver; at += pieceBytes) {
  outgoing.write(body.subarray(at, at + pieceBytes));
  await delay(pauseMs);
}
outgoing.end();
say(await ended);

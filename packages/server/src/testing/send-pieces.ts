/** A snapshot in one call whose body comes piece by piece, with pauses, so that something can happen in between. */

import https from "node:https";
import { setTimeout as delay } from "node:timers/promises";

export interface PiecesTerms {
  readonly url: string;
  readonly ca: string;
  /** The path with its query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly pieceBytes: number;
  readonly pauseMs: number;
}

/**
 * Says `begun` when it is connected and `sent` after the last piece. Returns `answer <status> <body>`, or `lost <code>` when the
 * connection ended without an answer.
 */
export async function sendPieces(terms: PiecesTerms, say: (line: string) => void = () => undefined): Promise<string> {
  const { headers, body, pieceBytes, pauseMs, ca } = terms;
  const outgoing = https.request(`${terms.url}${terms.target}`, { method: "POST", headers, ca, agent: false });
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
  return ended;
}

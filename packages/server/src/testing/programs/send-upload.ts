/**
 * Sends a snapshot in one call, piece by piece, with pauses. It prints `begun` when it is connected, `sent` after the last, and
 * then `answer <status> <body>`, or `lost <code>` when the connection ended without an answer.
 *
 *   send-upload.ts <terms as JSON>
 */

import { readFileSync } from "node:fs";
import { type PiecesTerms, sendPieces } from "../send-pieces.ts";

interface Terms extends Omit<PiecesTerms, "body" | "ca"> {
  readonly caFile: string;
  readonly bodyFile: string;
}

const { caFile, bodyFile, ...terms } = JSON.parse(process.argv[2] ?? "") as Terms;
const say = (line: string) => process.stdout.write(`${line}\n`);
say(await sendPieces({ ...terms, ca: readFileSync(caFile, "utf8"), body: readFileSync(bodyFile) }, say));

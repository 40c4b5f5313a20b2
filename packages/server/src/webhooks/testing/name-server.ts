/** A name server for tests, on loopback: it answers what a test says, also something else at every question. */

import { createSocket } from "node:dgram";
import type { AddressInfo } from "node:net";
import type { Cleanup } from "../../testing/database.ts";

export interface NameServer {
  /** For `EMANET_WEBHOOK_DNS`. */
  readonly address: string;
  /** Names that were asked for, in their order. */
  readonly questions: string[];
}

/** `answer` gets the name and the number of the question for it (from 0), and returns IPv4 addresses. */
export async function startNameServer(
  cleanup: Cleanup,
  answer: (name: string, count: number) => readonly string[],
): Promise<NameServer> {
  const socket = createSocket("udp4");
  const questions: string[] = [];
  const counts = new Map<string, number>();
  socket.on("message", (query, peer) => {
    const { name, type, end } = readQuestion(query);
    questions.push(name);
    const isA = type === 1;
    const count = counts.get(name) ?? 0;
    if (isA) counts.set(name, count + 1);
    const addresses = isA ? answer(name, count) : [];
    const head = Buffer.from(query.subarray(0, 12));
    // A response that is authoritative; without an address the name does not exist for this type.
    head.writeUInt16BE(0x8580, 2);
    head.writeUInt16BE(addresses.length, 6);
    head.writeUInt32BE(0, 8);
    const records = addresses.map((address) =>
      Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]),
    );
    socket.send(Buffer.concat([head, query.subarray(12, end), ...records]), peer.port, peer.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  cleanup.after(async () => void socket.close());
  return { address: `127.0.0.1:${(socket.address() as AddressInfo).port}`, questions };
}

/** The only question of a query: its name, its type, and where it ends. */
function readQuestion(query: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.subarray(at + 1, at + 1 + length).toString("latin1"));
    at += length + 1;
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

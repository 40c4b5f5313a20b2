/** The client of large bodies and answers. A body is read from a file; of an answer only its length and a short text are kept. */

import { once } from "node:events";
import { createReadStream } from "node:fs";
import type { IncomingMessage } from "node:http";
import http2 from "node:http2";
import https from "node:https";
import { pipeline } from "node:stream/promises";
import type { Protocol } from "../requests/clients.ts";

/** Few reads of the file; the socket takes what it can. */
const readBytes = 1024 * 1024;

/** Answers of JSON are shorter. */
const maxTextBytes = 64 * 1024;

export interface Transfer {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body. */
  readonly file?: { readonly path: string; readonly bytes: number };
  /** Whether the body is sent only when the server asks for it (`Expect: 100-continue`), as curl and the agent do. Only over HTTP/1.1. */
  readonly waitsForContinue?: boolean;
}

export interface TransferAnswer {
  readonly status: number;
  readonly bytes: number;
  /** The beginning of the content. */
  readonly text: string;
}

export interface TransferClient {
  send(transfer: Transfer): Promise<TransferAnswer>;
  close(): void;
}

export async function openTransfers(protocol: Protocol, url: string, ca: string): Promise<TransferClient> {
  if (protocol === "http/1.1") {
    const agent = new https.Agent({ ca, keepAlive: true });
    return { send: (transfer) => sendHttp1(url, agent, transfer), close: () => agent.destroy() };
  }
  const session = http2.connect(url, { ca });
  await once(session, "connect");
  return { send: (transfer) => sendHttp2(session, transfer), close: () => session.close() };
}

async function sendHttp1(url: string, agent: https.Agent, transfer: Transfer) {
  const { method, path, headers, file, waitsForContinue } = transfer;
  const length = file === undefined ? {} : { "content-length": file.bytes };
  const expect = waitsForContinue === true ? { expect: "100-continue" } : {};
  const request = https.request(`${url}${path}`, { method, agent, headers: { ...headers, ...length, ...expect } });
  const answered = once(request, "response") as Promise<[IncomingMessage]>;
  // A failure of the connection reaches the body first.
  answered.catch(() => undefined);
  if (waitsForContinue === true) {
    const early = await Promise.race([answered, once(request, "continue").then(() => null)]);
    if (early !== null) {
      const [response] = early;
      const content = await contentOf(response);
      request.destroy();
      return { status: response.statusCode ?? 0, ...content };
    }
  }
  const sent =
    file === undefined ? request.end() : pipeline(createReadStream(file.path, { highWaterMark: readBytes }), request);
  // A refusal comes before the end of the body. It must be read: the pipeline waits for it.
  const [response] = await Promise.race([answered, Promise.resolve(sent).then(() => answered)]);
  const content = await contentOf(response);
  if (!request.writableFinished) request.destroy();
  return { status: response.statusCode ?? 0, ...content };
}

async function sendHttp2(session: http2.ClientHttp2Session, { method, path, headers, file }: Transfer) {
  const length = file === undefined ? {} : { "content-length": file.bytes };
  const stream = session.request(
    { ":method": method, ":path": path, ...headers, ...length },
    { endStream: file === undefined },
  );
  const answered = once(stream, "response") as Promise<[http2.IncomingHttpHeaders]>;
  const content = contentOf(stream);
  // A failure of the connection reaches the body first.
  for (const promise of [answered, content]) promise.catch(() => undefined);
  if (file !== undefined)
    for await (const chunk of createReadStream(file.path, { highWaterMark: readBytes }))
      if (!stream.write(chunk)) await once(stream, "drain");
  stream.end();
  const [answer] = await answered;
  return { status: Number(answer[":status"]), ...(await content) };
}

/** Reads an answer to its end. */
function contentOf(answer: NodeJS.ReadableStream): Promise<{ readonly bytes: number; readonly text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ bytes: number; text: string }>();
  let bytes = 0;
  let text = "";
  answer.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= maxTextBytes) text += chunk.toString("latin1");
  });
  answer.on("error", reject);
  answer.on("aborted", () => reject(new Error("the answer was cut off")));
  answer.on("end", () => resolve({ bytes, text }));
  return promise;
}

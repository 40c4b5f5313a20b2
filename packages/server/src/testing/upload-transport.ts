/** A transport of the upload protocol over HTTP, for `RemoteTarget`. It needs nothing of the service, so that client processes start fast. */

import https from "node:https";
import { AnswerLostError, CatalogError, errorOfRefusal, isReason, type UploadCall } from "@emanet/engine";

/** Where requests go: the address, and the authority that is trusted. */
export interface Place {
  readonly url: string;
  readonly ca: string;
}

interface Terms {
  readonly place: () => Place;
  readonly auth: () => Promise<Readonly<Record<string, string>>>;
}

/** Sends a request of the protocol, as `docs/PROTOCOL.md` says. */
export function uploadCall({ place, auth }: Terms, id: string) {
  return async (call: UploadCall): Promise<Uint8Array> => {
    const isPack = call.operation === "pack";
    const target = isPack ? `packs/${call.name}` : `upload/${call.operation}`;
    const body = isPack ? Buffer.concat(await Array.fromAsync(call.chunks())) : Buffer.from(call.body);
    const headers = {
      ...(await auth()),
      "content-type": isPack ? "application/octet-stream" : "application/vnd.emanet.upload",
      "content-length": String(body.length),
    };
    const answer = await request(place(), isPack ? "PUT" : "POST", `/v1/snapshots/${id}/${target}`, headers, body);
    if (answer.status === 200) return answer.body;
    throw errorOf(answer.status, answer.body, answer.retryAfter);
  };
}

interface Answer {
  readonly status: number;
  readonly body: Buffer;
  readonly retryAfter: string | undefined;
}

const connections = new https.Agent({ keepAlive: true });

/** One request. Rejects with `AnswerLostError` when the connection fails. */
export function request(
  { url, ca }: Place,
  method: string,
  target: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const lost = (cause?: Error) => reject(new AnswerLostError("the connection ended", { cause }));
    const outgoing = https.request(`${url}${target}`, { method, headers, ca, agent: connections }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", lost);
      response.on("end", () => {
        const retryAfter = response.headers["retry-after"];
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks), retryAfter });
      });
    });
    outgoing.on("error", lost);
    outgoing.end(body);
  });
}

/** The error of a problem, as a client makes it. */
function errorOf(status: number, body: Buffer, retryAfter: string | undefined): Error {
  const { code, reason, errors } = JSON.parse(body.toString()) as {
    code: string;
    reason?: string;
    errors?: { detail: string }[];
  };
  if (reason !== undefined && isReason(reason)) return errorOfRefusal({ reason, detail: errors?.[0]?.detail ?? code });
  // Its next call has a new token.
  if (code === "token_expired") return new AnswerLostError(code);
  if (status === 404) return new CatalogError("unknown_upload", code);
  if (status === 429 || status === 503)
    return new AnswerLostError(code, { retryAfterMs: Number(retryAfter ?? 1) * 1000 });
  return new HttpProblem(status, code);
}

/** A problem that has no reason of the protocol. */
export class HttpProblem extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string) {
    super(`${status} ${code}${status === 500 ? ": the process has ended before it answered" : ""}`);
    this.status = status;
    this.code = code;
  }
}

/** What the tests of downloads share. */

import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import type { SnapshotTest } from "../snapshots/testing.ts";

type Headers = Readonly<Record<string, string>>;

/** The path of a new link to a snapshot. With a new token, unless one is given: tests move the clock. */
export async function makeLink(env: SnapshotTest, id: string, wanted: object = {}, given?: Headers): Promise<string> {
  const headers = given ?? (await env.as({ as: "client", kind: "api" }));
  const answer = await env.service.send("POST", `/v1/snapshots/${id}/download-link`, { json: wanted, headers });
  assert.equal(answer.status, 201, answer.body.toString());
  return new URL(String(answer.json?.url)).pathname;
}

/** The cookie that an answer sets, as a request sends it. */
export function cookieOf({ headers }: { readonly headers: object }): Headers {
  const { "set-cookie": value } = headers as { readonly "set-cookie"?: string | readonly string[] };
  const [pair = ""] = String(value).split(";");
  return { cookie: pair };
}

/** A download whose body is not read yet. `end` reads it: how many bytes came, and whether it was whole. */
export async function openDownload({ service }: Pick<SnapshotTest, "service">, path: string, headers: Headers = {}) {
  const outgoing = https.get(`${service.url}${path}`, { headers, ca: service.ca, agent: false });
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  assert.equal(response.statusCode, 200);
  response.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => response.once("close", resolve));
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
  });
  response.pause();
  const end = async () => {
    response.resume();
    await closed;
    return { bytes, isWhole: response.complete };
  };
  return { end };
}

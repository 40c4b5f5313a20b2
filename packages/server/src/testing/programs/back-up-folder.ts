/**
 * Backs up a folder through the upload protocol. A service that is away is asked again for two minutes. It prints `begun` when the
 * snapshot is made, `call <operation>` before each call, and at the end `answer 200 {"id": …}` or `failed <why>`.
 *
 *   back-up-folder.ts <terms as JSON>
 */

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { AnswerLostError, CutWorkerPool, RemoteTarget, runBackup, type UploadCall } from "@emanet/engine";
import { folderSource } from "@emanet/engine/local";
import { writerFromSeed } from "@emanet/engine/vault";
import { request, uploadCall } from "../upload-transport.ts";

interface Terms {
  readonly url: string;
  readonly caFile: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly source: string;
  readonly reference: string;
  readonly owner: string;
  /** Base64, as the service sends them. */
  readonly seed: string;
  readonly keys: {
    readonly vault_id: string;
    readonly registration: string;
    readonly epoch: number;
    readonly public_key: string;
    readonly block_id_key: string;
  };
}

/** Much longer than a restart on a busy machine. */
const attempts = 400;
const pauseMs = 300;

const terms = JSON.parse(process.argv[2] ?? "") as Terms;
const { headers, keys } = terms;
const place = { url: terms.url, ca: readFileSync(terms.caFile, "utf8") };
const bytes = (text: string) => Buffer.from(text, "base64");
const say = (line: string) => process.stdout.write(`${line}\n`);

async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let left = attempts; ; left--) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof AnswerLostError) || left === 0) throw error;
      await delay(pauseMs);
    }
  }
}

/** The same key every time, so that a lost answer makes no second snapshot. */
async function create(): Promise<{ readonly id: string; readonly source: { readonly id: string } }> {
  const body = Buffer.from(JSON.stringify({ source: terms.source, external_reference: terms.reference }));
  const more = { "content-type": "application/json", "idempotency-key": `create-${terms.reference}` };
  const answer = await request(place, "POST", "/v1/snapshots", { ...headers, ...more }, body);
  if (answer.status === 201) return JSON.parse(answer.body.toString());
  const code = `${answer.status} ${answer.body}`;
  if (answer.status >= 500 || answer.status === 429 || /idempotency_in_progress/.test(code))
    throw new AnswerLostError(code);
  throw new Error(code);
}

async function backUp(): Promise<string> {
  const { id, source } = await patiently(create);
  say("begun");
  const send = uploadCall({ place: () => place, auth: async () => headers }, id);
  const call = (message: UploadCall) => {
    say(`call ${message.operation}`);
    return patiently(() => send(message));
  };
  await runBackup({
    ctx: { now: () => Date.now(), random: (length) => randomBytes(length) },
    keys: {
      vaultId: Buffer.from(keys.vault_id.replaceAll("-", ""), "hex"),
      ...{ epoch: keys.epoch, publicKey: bytes(keys.public_key), blockIdKey: bytes(keys.block_id_key) },
    },
    signer: writerFromSeed(bytes(terms.seed), bytes(keys.registration)),
    ...{ owner: terms.owner, pool: new CutWorkerPool(0), source: folderSource(terms.folder) },
    ...{ sourceName: source.id, snapshotId: id.replaceAll("-", "") },
    target: new RemoteTarget({ ctx: { random: (length) => randomBytes(length) }, call, pause: () => delay(pauseMs) }),
  });
  return id;
}

say(
  await backUp().then(
    (id) => `answer 200 ${JSON.stringify({ id })}`,
    (error: unknown) => `failed ${String(error).replaceAll("\n", " ")}`,
  ),
);

/** A client of the upload protocol: backs up a folder with the engine. A service that is away is asked again for two minutes. */

import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { AnswerLostError, CutWorkerPool, RemoteTarget, runBackup, type UploadCall } from "@emanet/engine";
import { folderSource } from "@emanet/engine/local";
import { writerFromSeed } from "@emanet/engine/vault";
import { type Place, request, uploadCall } from "./upload-transport.ts";

export interface FolderTerms {
  readonly place: Place;
  readonly auth: () => Promise<Readonly<Record<string, string>>>;
  readonly folder: string;
  readonly source: string;
  /** Also the key of the call that makes the snapshot: a lost answer makes no second one. */
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
  /** Waits before a call of the protocol, e.g. for a pause in the middle of an upload. */
  readonly before?: (operation: string) => Promise<void>;
  /** Ends it: else a service that does not come back is asked for two minutes, call by call. */
  readonly signal?: AbortSignal;
}

/** Much longer than a restart on a busy machine. */
const attempts = 400;
const pauseMs = 300;

async function patiently<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let left = attempts; ; left--) {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof AnswerLostError) || left === 0) throw error;
      await delay(pauseMs);
    }
  }
}

async function create(terms: FolderTerms): Promise<{ readonly id: string; readonly source: { readonly id: string } }> {
  const body = Buffer.from(JSON.stringify({ source: terms.source, external_reference: terms.reference }));
  const more = { "content-type": "application/json", "idempotency-key": `create-${terms.reference}` };
  const headers = { ...(await terms.auth()), ...more };
  const answer = await request(terms.place, "POST", "/v1/snapshots", headers, body);
  if (answer.status === 201) return JSON.parse(answer.body.toString());
  const code = `${answer.status} ${answer.body}`;
  if (answer.status >= 500 || answer.status === 429 || /idempotency_in_progress|token_expired/.test(code))
    throw new AnswerLostError(code);
  throw new Error(code);
}

/** Returns the id of the snapshot. Says `begun` when it is made, and `call <operation>` before each call. */
export async function backUpFolder(terms: FolderTerms, say: (line: string) => void = () => undefined): Promise<string> {
  const { keys } = terms;
  const bytes = (text: string) => Buffer.from(text, "base64");
  const { id, source } = await patiently(() => create(terms), terms.signal);
  say("begun");
  const send = uploadCall({ place: () => terms.place, auth: terms.auth }, id);
  const call = async (message: UploadCall) => {
    await terms.before?.(message.operation);
    say(`call ${message.operation}`);
    return patiently(() => send(message), terms.signal);
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

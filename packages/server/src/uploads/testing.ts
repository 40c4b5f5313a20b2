/**
 * Agents that upload over HTTP, for tests: a transport for `RemoteTarget`, agents of an account, and backups of folders. Tokens are
 * issued for each call, because tests move the clock by more than a token lives.
 */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import path from "node:path";
import {
  type BackupOptions,
  type BackupResult,
  CutWorkerPool,
  RemoteTarget,
  runBackup,
  type UploadCall,
  type UploadTarget,
  type WriterKeys,
} from "@emanet/engine";
import { folderSource } from "@emanet/engine/local";
import { type Writer, writerFromSeed } from "@emanet/engine/vault";
import { proofOf } from "../agents/testing.ts";
import { agentClientId } from "../oauth/index.ts";
import { type Bearer, makeBearer } from "../testing/accounts.ts";
import type { TestService } from "../testing/running.ts";
import { uploadCall } from "../testing/upload-transport.ts";

export { HttpProblem } from "../testing/upload-transport.ts";

/** Limits that no test of uploads is about. */
export const noUploadLimits = {
  EMANET_LIMIT_SNAPSHOTS_CREATE: "1000000/60",
  EMANET_LIMIT_SNAPSHOTS_CREATE_HOUR: "1000000/3600",
} as const;

/** Two services of one database, one object store and one clock answer in turn; or one alone. */
export interface Services {
  readonly first: TestService;
  next(): TestService;
}

export function inTurn(services: readonly [TestService, ...TestService[]]): Services {
  let calls = 0;
  return { first: services[0], next: () => services[calls++ % services.length] ?? services[0] };
}

/** An agent: a device grant with a registered key. */
export interface UploadAgent {
  readonly accountId: string;
  readonly sessionId: string;
  readonly agentId: string;
  readonly vaultId: string;
  readonly keys: WriterKeys;
  readonly signer: Writer;
  readonly owner: string;
  auth(): Promise<{ readonly authorization: string }>;
  /** The same agent with a token that may only write. */
  writeOnly(): UploadAgent;
}

export async function openAgent(
  services: Services,
  accountId: string,
  seed: number,
  more: Bearer = {},
): Promise<UploadAgent> {
  const service = services.first;
  const bearer = { as: "grant", kind: "agent", clientId: agentClientId, accountId, ...more } as const;
  const made = await makeBearer(service, bearer);
  const authAs = async (scopes: readonly string[]) => {
    const { token } = await service.tokens.issue({
      ...{ subject: made.sessionId, sessionId: made.sessionId, clientId: agentClientId, accountId, scopes },
      ...{ amr: ["pwd"], authTime: service.clock.now() },
    });
    return { authorization: `Bearer ${token}` };
  };
  const auth = () => authAs(more.scopes ?? ["snapshots:read", "snapshots:write"]);
  const bytes = Buffer.alloc(32, seed);
  const { signerFromSeed } = await import("@emanet/engine");
  const proof = proofOf(accountId, { kind: "agent", id: made.sessionId }, signerFromSeed(bytes));
  const answer = await service.send("POST", "/v1/agents", {
    json: { name: `Agent ${seed}`, ...proof },
    headers: await auth(),
  });
  assert.equal(answer.status, 201, answer.body.toString());
  const { agent, keys } = answer.json as unknown as {
    agent: { id: string };
    keys: VaultKeysJson[];
  };
  const [vault] = keys;
  assert.ok(vault !== undefined);
  const opened: UploadAgent = {
    ...{ accountId, sessionId: made.sessionId, agentId: agent.id, auth, ...writing(seed, vault) },
    owner: `agent:${made.sessionId}`,
    writeOnly: () => ({ ...opened, auth: () => authAs(["snapshots:write"]) }),
  };
  return opened;
}

/** The writer's keys of a vault, as the API shows them. */
export interface VaultKeysJson {
  readonly vault_id: string;
  readonly registration: string;
  readonly epoch: number;
  readonly public_key: string;
  readonly block_id_key: string;
}

/** What an agent writes with to a vault. */
function writing(seed: number, vault: VaultKeysJson): Pick<UploadAgent, "vaultId" | "keys" | "signer"> {
  return {
    vaultId: vault.vault_id,
    keys: {
      vaultId: Buffer.from(vault.vault_id.replaceAll("-", ""), "hex"),
      epoch: vault.epoch,
      publicKey: Buffer.from(vault.public_key, "base64"),
      blockIdKey: Buffer.from(vault.block_id_key, "base64"),
    },
    signer: writerFromSeed(Buffer.alloc(32, seed), Buffer.from(vault.registration, "base64")),
  };
}

/** The same agent with another of its vaults. */
export function inVault(agent: UploadAgent, seed: number, vault: VaultKeysJson): UploadAgent {
  return { ...agent, ...writing(seed, vault) };
}

export interface TestSnapshot {
  readonly id: string;
  /** Its id in the engine. */
  readonly snapshotId: string;
  readonly sourceId: string;
}

export async function createSnapshot(services: Services, agent: UploadAgent, source: string): Promise<TestSnapshot> {
  const headers = await agent.auth();
  const json = { source, vault_id: agent.vaultId };
  const answer = await services.next().send("POST", "/v1/snapshots", { json, headers });
  assert.equal(answer.status, 201, answer.body.toString());
  const { id, source: of } = answer.json as unknown as { id: string; source: { id: string } };
  return { id, snapshotId: id.replaceAll("-", ""), sourceId: of.id };
}

/** Sends a request of the protocol, to each of the services in turn. */
export function httpCall(services: Services, agent: Pick<UploadAgent, "auth">, id: string) {
  return uploadCall({ place: () => services.next(), auth: () => agent.auth() }, id);
}

export function remoteTarget(
  services: Services,
  agent: Pick<UploadAgent, "auth">,
  id: string,
  network: (call: (request: UploadCall) => Promise<Uint8Array>) => (request: UploadCall) => Promise<Uint8Array> = (
    call,
  ) => call,
): UploadTarget {
  const call = network(httpCall(services, agent, id));
  return new RemoteTarget({ ctx: { random: randomBytes }, call, pause: async () => {} });
}

/** A pool without threads, shared by all tests of a file. */
const pool = new CutWorkerPool(0);

/** Backs up a folder into a snapshot. */
export function backUp(
  services: Services,
  agent: UploadAgent,
  snapshot: TestSnapshot,
  folder: string,
  more: Partial<BackupOptions> = {},
): Promise<BackupResult> {
  const { clock } = services.first;
  return runBackup({
    ctx: { now: () => clock.now().getTime(), random: randomBytes },
    ...{ keys: agent.keys, signer: agent.signer, owner: agent.owner, pool },
    source: folderSource(path.resolve(folder)),
    ...{ sourceName: snapshot.sourceId, snapshotId: snapshot.snapshotId },
    target: remoteTarget(services, agent, snapshot.id),
    ...more,
  });
}

/** A call that an agent is about to make, and that succeeds if it makes it. */
export interface NextCall {
  /** The snapshot. */
  readonly id: string;
  /** The pack, if the call stores one. */
  readonly name: string;
  readonly mediaType: string;
  readonly body: Buffer<ArrayBuffer>;
}

/** Makes an upload of a folder up to its first call of this operation, which is not sent. */
export async function uploadUntil(
  services: Services,
  agent: UploadAgent,
  folder: string,
  operation: UploadCall["operation"],
): Promise<NextCall> {
  const snapshot = await createSnapshot(services, agent, "sunucu");
  const reached: UploadCall[] = [];
  const target = remoteTarget(services, agent, snapshot.id, (call) => async (request) => {
    if (request.operation === operation) reached.push(request);
    // The backup ends with this error, and then tries to abandon its upload.
    if (reached.length > 0) throw new Error(`the upload stops before ${operation}`);
    return call(request);
  });
  const upload = async () => {
    await target.begin(null);
    // A short backup makes none of these calls.
    if (operation === "ordinals") return target.reserveOrdinals(1, 1);
    if (operation === "nodes") return target.offerNodes([Buffer.alloc(32, 1)]);
    if (operation === "renew" || operation === "abandon") return target[operation]();
    return backUp(services, agent, snapshot, folder, { target });
  };
  await assert.rejects(upload, /the upload stops before/);
  const [next = assert.fail("no call")] = reached;
  if (next.operation === "pack") {
    const body = Buffer.concat(await Array.fromAsync(next.chunks()));
    return { id: snapshot.id, name: next.name, mediaType: "application/octet-stream", body };
  }
  return { id: snapshot.id, name: "", mediaType: "application/vnd.emanet.upload", body: Buffer.from(next.body) };
}

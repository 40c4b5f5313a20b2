/**
 * `npm run bench:offers`: whether the time of an offer tells a client what it may not know. An agent offers content over HTTP, in turns,
 * in random order: unknown content, which is in no vault, and known content. Known content is
 * - stored in another vault of the same account (`other vault`), or
 * - stored by another client in the same vault and verified, while the agent may only write (`other client`).
 * Both must take the same time. It prints medians, and the chance (`AUC`) that an offer of the known content takes longer than one of the
 * unknown content: 0.5 is no difference. As a control the agent offers content of its own, which it may know.
 *
 *   npm run bench:offers -- 400      offers of each kind
 */

import { createCipheriv, randomInt } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { SegmentQuery, UploadTarget } from "../../packages/engine/src/index.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { testServerVariable } from "../../packages/server/src/testing/database.ts";
import { listIn } from "../../packages/server/src/testing/lists.ts";
import { startTestService } from "../../packages/server/src/testing/running.ts";
import { jobsDone } from "../../packages/server/src/testing/sent-messages.ts";
import {
  backUp,
  createSnapshot,
  inTurn,
  inVault,
  noUploadLimits,
  openAgent,
  remoteTarget,
  type UploadAgent,
  type VaultKeysJson,
} from "../../packages/server/src/uploads/testing.ts";
import { makeVault } from "../../packages/server/src/vaults/testing.ts";
import { startTestServer } from "../../tools/test-server.ts";

const rounds = Number(process.argv[2] ?? 400);
/** Offers before anything is measured: caches, prepared statements, compiled code. */
const warmUp = 50;
/** About eight segments: an offer as a backup makes them. */
const contentBytes = 8 * 1024 * 1024;

const undo: (() => Promise<void>)[] = [];
const cleanup = { after: (step: () => Promise<void>) => void undo.push(step) };
const postgres = await startTestServer();
process.env[testServerVariable] = JSON.stringify(postgres.server);

try {
  const service = await startTestService(cleanup, { settings: { ...noUploadLimits, EMANET_LOG_LEVEL: "error" } });
  const services = inTurn([service]);
  const owner = await tokenFor(service);
  const accountId = owner.accountId ?? "";

  const folderOf = (seed: number): string => {
    const folder = path.join(service.dataDir, `content-${seed}`);
    mkdirSync(folder);
    const cipher = createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16));
    writeFileSync(path.join(folder, "f"), cipher.update(Buffer.alloc(contentBytes)));
    return folder;
  };

  /** What an agent offers for the content of a folder; nothing is stored. */
  const offersOf = async (agent: UploadAgent, folder: string): Promise<readonly SegmentQuery[]> => {
    const snapshot = await createSnapshot(services, agent, "ölçüm");
    const target = remoteTarget(services, agent, snapshot.id);
    const queries: SegmentQuery[] = [];
    const stop = new Error("only the offers are wanted");
    const asking: UploadTarget = {
      begin: (base) => target.begin(base),
      reserveOrdinals: (request, count) => target.reserveOrdinals(request, count),
      offer: async (some) => {
        queries.push(...some);
        return target.offer(some);
      },
      offerNodes: (ids) => target.offerNodes(ids),
      putPack: () => Promise.reject(stop),
      register: () => Promise.reject(stop),
      renew: () => target.renew(),
      complete: () => Promise.reject(stop),
      abandon: () => target.abandon(),
    };
    await backUp(services, agent, snapshot, folder, { target: asking }).catch((error: unknown) => {
      if (error !== stop) throw error;
    });
    return queries.slice(0, 8);
  };

  const store = async (agent: UploadAgent, source: string, folder: string): Promise<void> => {
    await backUp(services, agent, await createSnapshot(services, agent, source), folder);
    await jobsDone(service, "snapshots.verify");
  };

  /** Times of both kinds of offers in one open upload. */
  const compare = async (name: string, agent: UploadAgent, known: string, unknown: string): Promise<void> => {
    const kinds = [await offersOf(agent, known), await offersOf(agent, unknown)] as const;
    const { id } = await createSnapshot(services, agent, "ölçüm");
    const target = remoteTarget(services, agent, id);
    await target.begin(null);
    const times: readonly [number[], number[]] = [[], []];
    for (let round = -warmUp; round < rounds; round++)
      for (const kind of randomInt(2) === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
        const begun = performance.now();
        await target.offer(kinds[kind]);
        if (round >= 0) times[kind].push(performance.now() - begun);
      }
    await target.abandon();
    report(name, times[0], times[1]);
  };

  const reader = await openAgent(services, accountId, 1);
  const vault = await makeVault(service, owner.auth);
  const vaults = [reader.vaultId, vault];
  await service.send("PATCH", `/v1/agents/${reader.agentId}`, { json: { vaults }, headers: owner.auth });
  const keys = await service.send("GET", `/v1/agents/${reader.agentId}/keys`, { headers: await reader.auth() });
  const other = listIn<VaultKeysJson>(keys, "keys").find((one) => one.vault_id === vault);
  if (other === undefined) throw new Error("the agent has no keys of the other vault");
  const writer = await openAgent(services, accountId, 2, { scopes: ["snapshots:write"] });
  const [stored, nowhere, alsoNowhere, own] = [folderOf(1), folderOf(2), folderOf(3), folderOf(4)];
  await store(reader, "ofis", stored);
  await store(writer, "kendi", own);

  console.log(`${rounds} offers of each kind, 8 segments each`);
  await compare("other vault", inVault(reader, 1, other), stored, nowhere);
  await compare("other client", writer, stored, nowhere);
  await compare("twice unknown", writer, alsoNowhere, nowhere);
  await compare("own (control)", writer, own, nowhere);
} finally {
  for (const step of undo) await step();
  await postgres.stop();
}

function report(name: string, known: readonly number[], unknown: readonly number[]): void {
  const text = (values: readonly number[]) => `${median(values).toFixed(3)} ms`;
  const difference = (median(known) / median(unknown) - 1) * 100;
  console.log(
    `${name.padEnd(14)} known ${text(known)}, unknown ${text(unknown)}, ${difference.toFixed(1)} %, AUC ${auc(known, unknown).toFixed(3)}`,
  );
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** The share of pairs in which the first is larger (Mann-Whitney). */
function auc(first: readonly number[], second: readonly number[]): number {
  let larger = 0;
  for (const a of first) for (const b of second) larger += a > b ? 1 : a === b ? 0.5 : 0;
  return larger / (first.length * second.length);
}

/** The calls of deletion and retention, for the test of all operations. */

import type { EmanetClient } from "../../sdks/typescript/src/index.ts";

type WithSnapshot = () => Promise<{ readonly client: EmanetClient; readonly id: string }>;

/** `makeSuspicious` changes a snapshot so that it can be accepted, `makeReady` a recovery kit so that it can be fetched. */
export function retentionCalls(
  withSnapshot: WithSnapshot,
  staff: () => Promise<EmanetClient>,
  makeSuspicious: (id: string) => Promise<unknown>,
  makeReady: (id: string) => Promise<unknown>,
) {
  const places = async () => {
    const { client, id } = await withSnapshot();
    const { vault_id: vault, source } = await client.snapshots.get({ id });
    return { client, id, vault, source: source.id };
  };
  const held = async () => {
    const { client, id } = await withSnapshot();
    await client.snapshots.setHold({ id, body: { reason: "inceleme" } });
    return { client, id };
  };
  return {
    ...deletionCalls(withSnapshot, makeReady),
    "vaults.getRetention": async () => {
      const { client, vault } = await places();
      return client.vaults.getRetention({ id: vault });
    },
    "vaults.setRetention": async () => {
      const { client, vault } = await places();
      return client.vaults.setRetention({ id: vault, body: { keep_last: 30 } }, { ifMatch: "*" });
    },
    "sources.getRetention": async () => {
      const { client, source } = await places();
      return client.sources.getRetention({ id: source });
    },
    "sources.setRetention": async () => {
      const { client, source } = await places();
      return client.sources.setRetention({ id: source, body: { floor_days: 30 } }, { ifMatch: "*" });
    },
    "retention.simulate": async () => {
      const { client, source } = await places();
      return client.retention.simulate({ body: { source_id: source, policy: { keep_daily: 7 } } });
    },
    "snapshots.getHold": async () => {
      const { client, id } = await held();
      return client.snapshots.getHold({ id });
    },
    "snapshots.setHold": held,
    "snapshots.releaseHold": async () => {
      const { client, id } = await held();
      return client.snapshots.releaseHold({ id }, { ifMatch: "*" });
    },
    "snapshots.lock": async () => {
      const { client, id } = await withSnapshot();
      return client.snapshots.lock({ id, body: { locked_until: "2030-01-01T00:00:00Z" } });
    },
    "snapshots.accept": async () => {
      const { client, id } = await withSnapshot();
      await makeSuspicious(id);
      return client.snapshots.accept({ id });
    },
    "admin.setUpkeep": async () => {
      const { vault } = await places();
      return (await staff()).admin.setUpkeep({ id: vault, body: { paused: true, reason: "inceleme" } });
    },
    "pendingActs.list": async () => (await withSnapshot()).client.pendingActs.list({ state: "waiting" }),
    "pendingActs.cancel": async () => {
      const { client, vault } = await places();
      const { pending } = await client.vaults.setRetention({ id: vault, body: { keep_last: 1 } }, { ifMatch: "*" });
      return client.pendingActs.cancel({ id: pending?.act_id ?? "" });
    },
  };
}

function kitCalls(withSnapshot: WithSnapshot, makeReady: (id: string) => Promise<unknown>) {
  const ordered = async () => {
    const { client } = await withSnapshot();
    const { id: vault } = await client.vaults.create({ body: { name: "Kit" } });
    const { id } = await client.recoveryKits.create({ id: vault });
    return { client, id };
  };
  return {
    "recoveryKits.create": ordered,
    "recoveryKits.list": async () => (await withSnapshot()).client.recoveryKits.list(),
    "recoveryKits.cancel": async () => {
      const { client, id } = await ordered();
      return client.recoveryKits.cancel({ id });
    },
    "recoveryKits.download": async () => {
      const { client, id } = await ordered();
      await makeReady(id);
      return client.recoveryKits.download({ id });
    },
  };
}

function deletionCalls(withSnapshot: WithSnapshot, makeReady: (id: string) => Promise<unknown>) {
  return {
    "sources.delete": async () => {
      const { client, id } = await withSnapshot();
      const { source } = await client.snapshots.get({ id });
      return client.sources.delete({ id: source.id }, { ifMatch: "*" });
    },
    ...kitCalls(withSnapshot, makeReady),
    "vaults.rotateKeys": async () => {
      const { client } = await withSnapshot();
      const { id } = await client.vaults.create({ body: { name: "Anahtar" } });
      return client.vaults.rotateKeys({ id });
    },
    "vaults.delete": async () => {
      const { client } = await withSnapshot();
      const { id } = await client.vaults.create({ body: { name: "Eski" } });
      return client.vaults.delete({ id }, { ifMatch: "*" });
    },
    "taxpayers.delete": async () => {
      const { client } = await withSnapshot();
      const { id } = await client.taxpayers.create({ body: { name: "Deniz", tax_id: "4540536920" } });
      return client.taxpayers.delete({ id }, { ifMatch: "*" });
    },
    "snapshots.delete": async () => {
      const { client, id } = await withSnapshot();
      return client.snapshots.delete({ id }, { ifMatch: "*" });
    },
    "snapshots.undelete": async () => {
      const { client, id } = await withSnapshot();
      await client.snapshots.delete({ id });
      return client.snapshots.undelete({ id });
    },
  };
}

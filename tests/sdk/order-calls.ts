/** The calls of agents about themselves and their orders, for the test of all operations. */

import { randomUUID } from "node:crypto";
import { FrameReader, RemoteReadPort, rootEntry } from "@emanet/engine";
import { makeAgent } from "../../packages/server/src/agents/testing.ts";
import type { TestService } from "../../packages/server/src/testing/running.ts";
import { bearerToken, type EmanetClient } from "../../sdks/typescript/src/index.ts";
import { clientOf } from "./connect.ts";

type WithSnapshot = () => Promise<{ client: EmanetClient; id: string; accountId: string }>;

const codes = { readOpen: 16, readItems: 17, readFrames: 18, readKeys: 19, readFind: 20 } as const;

const operations = {
  open: "readOpen",
  items: "readItems",
  frames: "readFrames",
  keys: "readKeys",
  find: "readFind",
} as const;

export function orderCalls(service: TestService, withSnapshot: WithSnapshot) {
  /** An order to an agent, with the agent's client. */
  const withOrder = async () => {
    const { client, id: snapshot, accountId } = await withSnapshot();
    const { id: agentId, auth } = await makeAgent(service, accountId);
    const target = { kind: "agent", agent_id: agentId } as const;
    const { id } = await client.restores.create({ body: { snapshot_id: snapshot, target } });
    const credentials = bearerToken(auth.authorization.slice("Bearer ".length));
    return { client: clientOf(service, { credentials }), agentId, id };
  };
  const taken = async () => {
    const order = await withOrder();
    const run = randomUUID();
    await order.client.orders.start({ id: order.id, body: { run_id: run } });
    return { ...order, report: { run_id: run, bytes_restored: 0, files_restored: 0 } };
  };
  const read = (operation: keyof typeof codes) => async () => {
    const { client, id } = await taken();
    const code = codes[operation];
    const payload = operation === "readOpen" ? [] : operation === "readFind" ? [0, 0] : [0];
    const body = Buffer.from([1, code, ...payload, 0]);
    return (await client.orders[operation]({ id, body })).bytes();
  };
  return {
    "agents.replace": async () => {
      const { client, accountId } = await withSnapshot();
      const make = (seed: number) => makeAgent(service, accountId, { seed });
      const [old, fresh] = [await make(1), await make(2)];
      return client.agents.replace({ id: fresh.id, body: { agent_id: old.id } });
    },
    "agents.getKeys": async () => {
      const { client, agentId } = await withOrder();
      return client.agents.getKeys({ id: agentId });
    },
    "orders.list": async () => {
      const { client, agentId } = await withOrder();
      return client.orders.list({ id: agentId, wait: 1 });
    },
    "orders.start": taken,
    "orders.report": async () => {
      const { client, id, report } = await taken();
      return client.orders.report({ id, body: report });
    },
    "orders.finish": async () => {
      const { client, id, report } = await taken();
      return client.orders.finish({ id, body: { ...report, result: "completed" } });
    },
    "orders.readOpen": read("readOpen"),
    "orders.readItems": read("readItems"),
    "orders.readFrames": read("readFrames"),
    "orders.readKeys": read("readKeys"),
    "orders.readFind": read("readFind"),
    "orders.readPack": async () => {
      const { client, id } = await taken();
      const { orders } = client;
      let pack: Uint8Array | null = null;
      const port = await RemoteReadPort.open({
        call: async (operation, body) => (await orders[operations[operation]]({ id, body: Buffer.from(body) })).bytes(),
        async readPack(name, { offset, length }) {
          pack = await (await orders.readPack({ id, name })).bytes();
          return pack.subarray(offset, offset + length);
        },
      });
      await rootEntry(new FrameReader(port), { rootOrdinal: port.root.ordinal, rootId: port.root.id });
      return pack;
    },
  };
}

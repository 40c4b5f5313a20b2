/** The calls that read content, for the test of all operations. */

import { FrameReader, RemoteReadPort, rootEntry } from "@emanet/engine";
import type { EmanetClient } from "../../sdks/typescript/src/index.ts";

type WithSnapshot = () => Promise<{ readonly client: EmanetClient; readonly id: string }>;

/** `withSnapshot` makes a snapshot with the file `a.txt`. */
export function downloadCalls(withSnapshot: WithSnapshot, anonymous: EmanetClient) {
  const newLink = async () => {
    const { client, id } = await withSnapshot();
    return client.snapshots.createDownloadLink({ id, body: { path: "a.txt" } });
  };
  const target = { kind: "download", format: "zip" } as const;
  const newRestore = async () => {
    const { client, id } = await withSnapshot();
    return { client, id: (await client.restores.create({ body: { snapshot_id: id, target } })).id };
  };
  /** A completed restore. */
  const restored = async () => {
    const { client, id } = await newRestore();
    while ((await client.restores.get({ id })).status !== "completed");
    return { client, id };
  };
  return {
    ...readCalls(withSnapshot),
    "restores.create": newRestore,
    "restores.list": async () => (await newRestore()).client.restores.list({ status: "completed" }),
    "restores.get": restored,
    "restores.listWarnings": async () => {
      const { client, id } = await newRestore();
      return client.restores.listWarnings({ id });
    },
    "restores.download": async () => {
      const { client, id } = await restored();
      return (await client.restores.download({ id })).bytes();
    },
    "restores.createDownloadLink": async () => {
      const { client, id } = await restored();
      return client.restores.createDownloadLink({ id });
    },
    // Its job may be faster.
    "restores.cancel": async () => {
      const { client, id } = await newRestore();
      return client.restores.cancel({ id }).catch(() => client.restores.get({ id }));
    },
    "snapshots.readFile": async () => {
      const { client, id } = await withSnapshot();
      return (await client.snapshots.readFile({ id, path: "a.txt" })).text();
    },
    "snapshots.readArchive": async () => {
      const { client, id } = await withSnapshot();
      return (await client.snapshots.readArchive({ id })).bytes();
    },
    "snapshots.readReceipt": async () => {
      const { client, id } = await withSnapshot();
      return (await client.snapshots.readReceipt({ id })).text();
    },
    "snapshots.createDownloadLink": newLink,
    "downloads.read": async () => {
      const link = (await newLink()).url.split("/").at(-1) ?? "";
      return (await anonymous.downloads.read({ link })).text();
    },
  };
}

/** The calls of the read protocol, with empty messages. */
function readCalls(withSnapshot: WithSnapshot) {
  const send = (operation: keyof typeof codes) => async () => {
    const { client, id } = await withSnapshot();
    const payload = operation === "open" ? [] : operation === "find" ? [0, 0] : [0];
    const body = Buffer.from([1, codes[operation], ...payload, 0]);
    return (await client.reads[operation]({ id, body })).bytes();
  };
  return {
    "reads.open": send("open"),
    "reads.items": send("items"),
    "reads.frames": send("frames"),
    "reads.keys": send("keys"),
    "reads.find": send("find"),
    "reads.readPack": async () => {
      const { client, id } = await withSnapshot();
      let pack: Uint8Array | null = null;
      const port = await RemoteReadPort.open({
        call: async (operation, body) => (await client.reads[operation]({ id, body: Buffer.from(body) })).bytes(),
        async readPack(name, { offset, length }) {
          pack = await (await client.reads.readPack({ id, name })).bytes();
          return pack.subarray(offset, offset + length);
        },
      });
      await rootEntry(new FrameReader(port), { rootOrdinal: port.root.ordinal, rootId: port.root.id });
      return pack;
    },
  };
}

const codes = { open: 16, items: 17, frames: 18, keys: 19, find: 20 } as const;

/** The calls that read content, for the test of all operations. */

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

/** The calls that read content, for the test of all operations. */

import type { EmanetClient } from "../../sdks/typescript/src/index.ts";

type WithSnapshot = () => Promise<{ readonly client: EmanetClient; readonly id: string }>;

/** `withSnapshot` makes a snapshot with the file `a.txt`. */
export function downloadCalls(withSnapshot: WithSnapshot, anonymous: EmanetClient) {
  const newLink = async () => {
    const { client, id } = await withSnapshot();
    return client.snapshots.createDownloadLink({ id, body: { path: "a.txt" } });
  };
  return {
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

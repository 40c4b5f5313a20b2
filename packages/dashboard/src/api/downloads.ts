/** Downloads. A browser cannot put a token on a download, so the service gives a link that works once, for five minutes. */

import { remember } from "../platform.ts";
import { client } from "./client.ts";
import { perform } from "./step-up.ts";

/** One file; a folder or everything as an archive. The path is one of the snapshot, empty for all of it. */
export async function downloadPath(snapshotId: string, path: string, isFile: boolean): Promise<void> {
  const body = { ...(path !== "" && { path }), ...(!isFile && { format: "zip" as const }) };
  const link = await perform((options) => client.snapshots.createDownloadLink({ id: snapshotId, body }, options));
  follow(link.url);
  // The last step of the first run: a file came back.
  remember("tried", "yes");
}

export async function downloadRestore(id: string): Promise<void> {
  const link = await perform((options) => client.restores.createDownloadLink({ id }, options));
  follow(link.url);
}

export async function downloadReceipt(snapshotId: string): Promise<void> {
  const { response } = await client.request({ method: "GET", path: `/v1/snapshots/${snapshotId}/receipt` });
  saveBlob(await response.blob(), `${snapshotId}.receipt.json`);
}

export function saveBlob(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  follow(address, name);
  // The browser has begun to save it.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** The answer is an attachment: the page stays. */
function follow(address: string, name = ""): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
}

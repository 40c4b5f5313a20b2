/** Folders for tests. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Cleanup } from "./database.ts";

/** A new, empty folder of mode 0700, removed with everything in it at the end of the test. */
export async function temporaryFolder(cleanup: Cleanup): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "emanet-t-"));
  // Clean-ups run in the order they were registered, so a process that the test ends later may still write here.
  cleanup.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }));
  return folder;
}

/** The operations of snapshots, in the order of the document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { cancelSnapshot } from "./cancel-snapshot.ts";
import { createBatch } from "./create-batch.ts";
import { createSnapshot } from "./create-snapshot.ts";
import { deleteSnapshot } from "./delete-snapshot.ts";
import { diffSnapshot } from "./diff-snapshot.ts";
import { getSnapshot } from "./get-snapshot.ts";
import { listSnapshots } from "./list-snapshots.ts";
import { listTree } from "./list-tree.ts";
import { listWarnings } from "./list-warnings.ts";
import { readArchive } from "./read-archive.ts";
import { readReceipt } from "./read-receipt.ts";
import { undeleteSnapshot } from "./undelete-snapshot.ts";
import { updateSnapshot } from "./update-snapshot.ts";
import { verifySnapshot } from "./verify-snapshot.ts";

export const snapshotEndpoints: readonly Endpoint[] = [
  listSnapshots,
  createSnapshot,
  createBatch,
  getSnapshot,
  updateSnapshot,
  cancelSnapshot,
  verifySnapshot,
  deleteSnapshot,
  undeleteSnapshot,
  listWarnings,
  listTree,
  diffSnapshot,
  readArchive,
  readReceipt,
];

export const snapshotTags: readonly OpenapiTag[] = [
  { name: "snapshots", description: "Back up files, and read what was backed up." },
];

/** The operations of restores, in the order of the document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { cancelRestore } from "./cancel-restore.ts";
import { createRestore } from "./create-restore.ts";
import { downloadRestore } from "./download-restore.ts";
import { getRestore } from "./get-restore.ts";
import { listRestoreWarnings } from "./list-restore-warnings.ts";
import { listRestores } from "./list-restores.ts";

export const restoreEndpoints: readonly Endpoint[] = [
  listRestores,
  createRestore,
  getRestore,
  listRestoreWarnings,
  downloadRestore,
  cancelRestore,
];

export const restoreTags: readonly OpenapiTag[] = [
  { name: "restores", description: "Bring files of a snapshot back." },
];

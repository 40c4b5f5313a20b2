/** The parts of the benchmark that have no counterpart at the bare server. */

import { coldFile } from "./cold-file.ts";
import { history } from "./history.ts";
import { oneByOne } from "./one-by-one.ts";
import { parallelUploads } from "./parallel-uploads.ts";
import type { Part } from "./part.ts";
import { projection } from "./projection.ts";
import { upkeep } from "./upkeep.ts";

export const parts: readonly Part[] = [oneByOne, parallelUploads, coldFile, history, projection, upkeep];

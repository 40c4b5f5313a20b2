/** The operations of snapshots file by file, in the order of the document. They belong to the tag `snapshots`. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { appendFile } from "./append-file.ts";
import { beginFile } from "./begin-file.ts";
import { completeSnapshot } from "./complete-snapshot.ts";
import { putFile } from "./put-file.ts";
import { readFile } from "./read-file.ts";

export const fileEndpoints: readonly Endpoint[] = [readFile, putFile, beginFile, appendFile, completeSnapshot];

/** The operations of downloads, in the order of the document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { createRestoreLink } from "./create-restore-link.ts";
import { createSnapshotLink } from "./create-snapshot-link.ts";
import { readDownload } from "./read-download.ts";

export const downloadEndpoints: readonly Endpoint[] = [createSnapshotLink, createRestoreLink, readDownload];

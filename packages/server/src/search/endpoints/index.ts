/** The operations of search and history, in the order of the document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { listHistory } from "./list-history.ts";
import { searchFiles } from "./search-files.ts";

export const searchEndpoints: readonly Endpoint[] = [searchFiles, listHistory];

export const searchTags: readonly OpenapiTag[] = [{ name: "files", description: "Find files over all snapshots." }];

/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { getOverview } from "./get-overview.ts";
import { listAdminJobs } from "./list-jobs.ts";
import { listAdminRestores } from "./list-restores.ts";
import { listAdminSnapshots } from "./list-snapshots.ts";

export const adminEndpoints: readonly Endpoint[] = [getOverview, listAdminJobs, listAdminSnapshots, listAdminRestores];

export const adminTags: readonly OpenapiTag[] = [{ name: "admin", description: "For staff of the platform." }];

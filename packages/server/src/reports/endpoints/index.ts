/** The operations of reports, in the order of the document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { exportAccount } from "./export-account.ts";
import { getUsageTotal } from "./get-usage-total.ts";
import { listNights } from "./list-nights.ts";
import { listUsage } from "./list-usage.ts";

export const reportEndpoints: readonly Endpoint[] = [listNights, listUsage, getUsageTotal, exportAccount];

export const reportTags: readonly OpenapiTag[] = [
  { name: "reports", description: "How backups went, and how much is stored, day by day." },
];

/**
 * Every operation of the service. Each domain lists its own in `endpoints/index.ts`; this file joins the lists. The
 * router, the OpenAPI document, the documentation pages and the tests follow from it.
 */

import { accountEndpoints, accountTags } from "./accounts/endpoints/index.ts";
import { adminEndpoints, adminTags } from "./admin/endpoints/index.ts";
import { agentEndpoints, agentTags } from "./agents/endpoints/index.ts";
import { applicationEndpoints, applicationTags } from "./applications/endpoints/index.ts";
import { auditEndpoints, auditTags } from "./audit/endpoints/index.ts";
import { dashboardEndpoints } from "./dashboard/endpoints/index.ts";
import { declared } from "./declarations.ts";
import { docsEndpoints, docsTags } from "./docs/endpoints/index.ts";
import { downloadEndpoints } from "./downloads/endpoints/index.ts";
import { erasureEndpoints } from "./erasures/endpoints/index.ts";
import { fileEndpoints } from "./files/endpoints/index.ts";
import { healthEndpoints, healthTags } from "./health/endpoints/index.ts";
import { identityEndpoints, identityTags } from "./identity/endpoints/index.ts";
import type { EventType } from "./kernel/events.ts";
import type { Endpoint } from "./kernel/http/endpoint.ts";
import { type JsonObject, type OpenapiOptions, type OpenapiTag, openapiDocument } from "./kernel/http/openapi.ts";
import { limitEndpoints, limitTags } from "./limits/endpoints/index.ts";
import { oauthEndpoints, oauthTags } from "./oauth/endpoints/index.ts";
import { orderEndpoints, orderTags } from "./orders/endpoints/index.ts";
import { readEndpoints, readTags } from "./reads/endpoints/index.ts";
import { receiptEndpoints } from "./receipts/endpoints/index.ts";
import { recordingAtOnce } from "./recovery/index.ts";
import { recoveryKitEndpoints } from "./recovery-kits/endpoints/index.ts";
import { reportEndpoints, reportTags } from "./reports/endpoints/index.ts";
import { restoreEndpoints, restoreTags } from "./restores/endpoints/index.ts";
import { retentionEndpoints, retentionTags } from "./retention/endpoints/index.ts";
import { sandboxEndpoints, sandboxTags } from "./sandbox/endpoints/index.ts";
import { searchEndpoints, searchTags } from "./search/endpoints/index.ts";
import { snapshotEndpoints, snapshotTags } from "./snapshots/endpoints/index.ts";
import { taxpayerEndpoints, taxpayerTags } from "./taxpayers/endpoints/index.ts";
import { upkeepEndpoints } from "./upkeep/endpoints/index.ts";
import { uploadEndpoints, uploadTags } from "./uploads/endpoints/index.ts";
import { vaultEndpoints, vaultTags } from "./vaults/endpoints/index.ts";
import { version } from "./version.ts";
import { webhookEndpoints, webhookTags } from "./webhooks/endpoints/index.ts";
import { eventCatalogue } from "./webhooks/index.ts";

export const endpoints: readonly Endpoint[] = recordingAtOnce([
  ...accountEndpoints,
  ...identityEndpoints,
  ...agentEndpoints,
  ...uploadEndpoints,
  ...applicationEndpoints,
  ...vaultEndpoints,
  ...taxpayerEndpoints,
  ...limitEndpoints,
  ...snapshotEndpoints,
  ...fileEndpoints,
  ...restoreEndpoints,
  ...retentionEndpoints,
  ...readEndpoints,
  ...orderEndpoints,
  ...downloadEndpoints,
  ...receiptEndpoints,
  ...webhookEndpoints,
  ...searchEndpoints,
  ...auditEndpoints,
  ...reportEndpoints,
  ...upkeepEndpoints,
  ...erasureEndpoints,
  ...recoveryKitEndpoints,
  ...adminEndpoints,
  ...oauthEndpoints,
  ...sandboxEndpoints,
  ...healthEndpoints,
  ...dashboardEndpoints,
  ...docsEndpoints((origin) => apiDocument({ origin })),
]);

/** Every event that an account can subscribe to. */
export const events: readonly EventType[] = eventCatalogue;

export const tags: readonly OpenapiTag[] = [
  ...accountTags,
  ...identityTags,
  ...agentTags,
  ...uploadTags,
  ...applicationTags,
  ...vaultTags,
  ...taxpayerTags,
  ...limitTags,
  ...snapshotTags,
  ...restoreTags,
  ...retentionTags,
  ...readTags,
  ...orderTags,
  ...webhookTags,
  ...searchTags,
  ...auditTags,
  ...reportTags,
  ...adminTags,
  ...oauthTags,
  ...sandboxTags,
  ...healthTags,
  ...docsTags,
];

/** The OpenAPI document of this release; with the origin of a service, as that service serves it. */
export function apiDocument(options: OpenapiOptions = {}): JsonObject {
  return openapiDocument({ endpoints, events, tags, version, declared }, options);
}

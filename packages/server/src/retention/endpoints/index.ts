/** Every operation of this domain, and the tag that groups them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { acceptSnapshot } from "./accept-snapshot.ts";
import { cancelAct } from "./cancel-act.ts";
import { closeAccount } from "./close-account.ts";
import { deleteSource } from "./delete-source.ts";
import { deleteTaxpayer } from "./delete-taxpayer.ts";
import { deleteVault } from "./delete-vault.ts";
import { getHold } from "./get-hold.ts";
import { getSourceRetention } from "./get-source-retention.ts";
import { getVaultRetention } from "./get-vault-retention.ts";
import { listActs } from "./list-acts.ts";
import { lockSnapshot } from "./lock-snapshot.ts";
import { releaseHold } from "./release-hold.ts";
import { setHold } from "./set-hold.ts";
import { setSourceRetention } from "./set-source-retention.ts";
import { setVaultRetention } from "./set-vault-retention.ts";
import { simulateRetention } from "./simulate-retention.ts";

export const retentionEndpoints: readonly Endpoint[] = [
  getVaultRetention,
  setVaultRetention,
  getSourceRetention,
  setSourceRetention,
  simulateRetention,
  getHold,
  setHold,
  releaseHold,
  lockSnapshot,
  acceptSnapshot,
  deleteSource,
  deleteTaxpayer,
  deleteVault,
  closeAccount,
  listActs,
  cancelAct,
];

export const retentionTags: readonly OpenapiTag[] = [
  { name: "retention", description: "How long snapshots are kept: policies, holds, locks, and acts that wait." },
];

/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { createSource } from "./create-source.ts";
import { createVault } from "./create-vault.ts";
import { getSource } from "./get-source.ts";
import { getVault } from "./get-vault.ts";
import { listSourceWriters } from "./list-source-writers.ts";
import { listSources } from "./list-sources.ts";
import { listVaults } from "./list-vaults.ts";
import { rotateVaultKeys } from "./rotate-vault-keys.ts";
import { setSourceWriters } from "./set-source-writers.ts";
import { updateSource } from "./update-source.ts";
import { updateVault } from "./update-vault.ts";

export const vaultEndpoints: readonly Endpoint[] = [
  listVaults,
  createVault,
  getVault,
  updateVault,
  rotateVaultKeys,
  listSources,
  createSource,
  getSource,
  updateSource,
  listSourceWriters,
  setSourceWriters,
];

export const vaultTags: readonly OpenapiTag[] = [
  { name: "vaults", description: "Where backups are kept: keys, quota and place." },
  { name: "sources", description: "What is backed up into a vault, over and over." },
];

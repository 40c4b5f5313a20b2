/** Commands of an operator: each changes the database or the data folder and ends. */

import { rename } from "node:fs/promises";
import path from "node:path";
import type { Config } from "./config.ts";
import { addStaff } from "./identity/index.ts";
import { syncFolder } from "./kernel/durable-file.ts";
import { masterKeyFromFile } from "./kernel/secrets.ts";
import { StartError } from "./kernel/start-error.ts";
import { localMasterKey, pendingMasterKeyFile, rewrapRootKey } from "./keys/index.ts";
import { originOf } from "./listen.ts";
import { withFoundation } from "./start.ts";

/** Seals the root key with a new master key; says what to do next. */
export async function rewrapMasterKey(config: Config): Promise<string> {
  return withFoundation({ config, role: "migrate" }, async ({ pools, clock, random, folder, storage }) => {
    const sources = { owner: pools.owner, clock, random, openStore: () => storage.open() };
    if (config.masterKey !== null) {
      if (config.newMasterKey === null) {
        throw new StartError(
          "setting_unusable",
          "Set EMANET_NEW_MASTER_KEY to the new key (`openssl rand -base64 32`).",
        );
      }
      const next = localMasterKey(config.newMasterKey, random);
      await rewrapRootKey(sources, localMasterKey(config.masterKey, random), next);
      return "rewrapped: set EMANET_MASTER_KEY to the new key on every process before its next start";
    }
    const file = folder.path("master.key");
    const pending = pendingMasterKeyFile(file);
    const from = localMasterKey(await masterKeyFromFile(file, random), random);
    const to = localMasterKey(await masterKeyFromFile(pending, random), random);
    await rewrapRootKey(sources, from, to);
    await rename(pending, file);
    await syncFolder(path.dirname(file));
    return `rewrapped: ${file} holds the new key; keep a copy apart from the data folder`;
  });
}

/** Adds one of the platform's staff; the link is for them alone. */
export async function addStaffMember(config: Config, email: string, fullName: string): Promise<string> {
  if (!/^[^\s@]{1,64}@[^\s@]+\.[^\s@]+$/.test(email) || fullName.trim() === "") {
    throw new StartError("setting_unusable", "Usage: staff add <e-mail> <name>");
  }
  const publicUrl = config.publicUrl ?? originOf("https", config.listen.host, config.listen.port);
  return withFoundation({ config, role: "migrate" }, async ({ transactions, random, secrets }) => {
    const link = await addStaff({ transactions, random, secrets, publicUrl }, email, fullName.trim());
    return `added: enrol with ${link}`;
  });
}

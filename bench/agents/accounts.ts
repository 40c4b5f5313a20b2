/**
 * Many accounts. Applications, approvals and enrolments would measure mails and the hashing of passwords, so an account is written by the service's own stores, in one
 * transaction as an approval writes it: account, default vault, invited owner, audit record; and with them a program of the account with its secret. The taxpayer with its vault is made by that program
 * over the API.
 */

import { readFileSync } from "node:fs";
import path from "node:path";
import { httpsFetch } from "../../packages/agent/src/api/https-fetch.ts";
import { addSecret, insertAccount, insertClient, insertPerson } from "../../packages/server/src/accounts/index.ts";
import { readConfig } from "../../packages/server/src/config.ts";
import { oauthScopes } from "../../packages/server/src/declarations.ts";
import type { Foundation } from "../../packages/server/src/foundation.ts";
import { withFoundation } from "../../packages/server/src/start.ts";
import { newTaxId } from "../../packages/server/src/taxpayers/testing.ts";
import { clientCredentials, createClient } from "../../sdks/typescript/src/index.ts";
import type { Account } from "./clients.ts";
import type { MeasuredService } from "./service-processes.ts";

/** Of both steps. The service has ten connections to its database. */
const atOnce = 8;

export type Made = Omit<Account, "vaultId">;

export function makeAccounts(service: MeasuredService, folder: string, count: number): Promise<Made[]> {
  const config = readConfig(service.settingsBeside(path.join(folder, "accounts")));
  return withFoundation({ config, role: "api", writeLog: () => undefined }, (foundation) =>
    inOrder(count, (number) => makeAccount(foundation, number)),
  );
}

async function makeAccount({ transactions, secrets, random }: Foundation, number: number): Promise<Made> {
  const [accountId, ownerId, clientId] = [random.uuid(), random.uuid(), random.uuid()];
  const context = { actor: { kind: "system" }, context: {}, signal: new AbortController().signal } as const;
  const clientSecret = await transactions.run(context, { kind: "account", accountId }, async (tx) => {
    const [language, email] = ["tr", `office-${number}@bench.example`] as const;
    await insertAccount(tx, {
      ...{ id: accountId, kind: "accounting_office", name: `Ofis ${number}`, taxId: newTaxId() },
      ...{ package: "corporate", language, applicationId: null },
    });
    await insertPerson(tx, {
      ...{ id: ownerId, accountId, role: "owner", state: "invited", email, emailKey: email, language },
      ...{ fullName: `Ofis ${number}`, phone: null, invitedBy: null },
    });
    await insertClient(tx, {
      ...{ id: clientId, accountId, kind: "api", name: "Gece yedeği", authMethod: "client_secret" },
      ...{ grantTypes: ["client_credentials"], redirectUris: [], scopes: Object.keys(oauthScopes) },
      ...{ vaultIds: null, jwks: null, role: "owner", createdBy: ownerId },
    });
    tx.audit({ action: "account.created", targets: [{ type: "account", id: accountId }] });
    return addSecret(tx, { secrets, random }, { id: clientId, accountId, shownTo: ownerId });
  });
  return { number, clientId, clientSecret };
}

/** A taxpayer of each account, and so a vault. */
export async function makeVaults({ url, caFile }: MeasuredService, accounts: readonly Made[]): Promise<Account[]> {
  const transport = httpsFetch({ ca: readFileSync(caFile, "utf8"), userAgent: "bench" });
  try {
    return await inOrder(accounts.length, async (at) => {
      const account = accounts[at] as Made;
      const credentials = clientCredentials(account);
      const client = createClient({ baseUrl: url, credentials, platform: { fetch: transport.fetch } });
      const body = { name: `Mükellef ${account.number}`, tax_id: newTaxId() };
      return { ...account, vaultId: (await client.taxpayers.create({ body })).vault_id };
    });
  } finally {
    transport.close();
  }
}

/** Makes so many things, some at a time. */
async function inOrder<T>(count: number, make: (number: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  const numbers = Array.from({ length: count }).keys();
  const worker = async () => {
    for (const number of numbers) made[number] = await make(number);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return made;
}

/** What the tests of vaults share: accounts in a database without a service, and open vaults on a store in memory. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { ObjectStore } from "@emanet/engine/object-store";
import { MemoryStore } from "@emanet/storage";
import { systemRandom } from "../kernel/clock.ts";
import type { Principal } from "../kernel/principal.ts";
import { createSecrets } from "../kernel/secrets.ts";
import { createTransactions, type Tx, type TxContext } from "../kernel/tx.ts";
import { localMasterKey, rootKeyCopy } from "../keys/index.ts";
import { testClock } from "../testing/clock.ts";
import { type Cleanup, silentLog, testDatabase } from "../testing/database.ts";
import { listIn } from "../testing/lists.ts";
import { storedRows } from "../testing/rows.ts";
import type { TestService } from "../testing/running.ts";
import { openVaults } from "./open-vaults.ts";

type Auth = Readonly<Record<string, string>>;

export const ofTest: TxContext = {
  actor: { kind: "system" },
  context: {},
  signal: new AbortController().signal,
};

export type AccountPrincipal = Extract<Principal, { accountId: string }>;
export type ClientPrincipal = Extract<Principal, { kind: "client" }>;

/** Of two processes with the same master key, database and store. */
export async function vaultEnvironment(cleanup: Cleanup) {
  const database = await testDatabase(cleanup);
  const clock = testClock();
  const transactions = createTransactions(database.app, clock, systemRandom, silentLog);
  const store = new MemoryStore();
  const rootKey = Buffer.alloc(32, 9);
  const sources = {
    transactions,
    secrets: createSecrets(rootKey, systemRandom),
    clock,
    random: systemRandom,
    log: silentLog,
    rootKeyCopy: rootKeyCopy(localMasterKey(Buffer.alloc(32, 1), systemRandom), rootKey),
  };
  return {
    database,
    clock,
    transactions,
    store,
    sources,
    /** What another process of the service would open. */
    openProcess: (of: ObjectStore = store) =>
      openVaults({
        ...sources,
        storage: {
          open: async () => of,
          removeLeftovers: async () => undefined,
          time: async () => null,
        },
      }),
    run: <T>(accountId: string, work: (tx: Tx) => Promise<T>) =>
      transactions.run(ofTest, { kind: "account", accountId }, work),
    newAccount: async (language = "tr") => {
      const id = randomUUID();
      await storedRows(
        database,
        `insert into emanet.accounts
           (id, kind, name, tax_id, package, state, language, state_changed_at, created_at, updated_at)
         values ($1, 'company', 'Test', '1234567808', 'corporate', 'active', $3, $2, $2, $2)`,
        [id, clock.now(), language],
      );
      const [vault] = await storedRows<{ id: string }>(
        database,
        "select id from emanet.vaults where account_id = $1 and kind = 'default'",
        [id],
      );
      return { accountId: id, vaultId: vault?.id ?? "" };
    },
    rows: <Row extends object>(text: string, values: readonly unknown[] = []) =>
      storedRows<Row>(database, text, values),
  };
}

export function clientOf(accountId: string, more: Partial<ClientPrincipal> = {}): ClientPrincipal {
  const id = randomUUID();
  return {
    kind: "client",
    accountId,
    clientId: id,
    memberId: null,
    roles: ["operator"],
    scopes: new Set(["snapshots:write"]),
    sessionId: id,
    tokenKind: "api",
    vaultIds: null,
    account: {
      state: "active",
      package: "corporate",
      entitlements: new Set(["api"]),
      apiPackage: "accountant",
      earlyAccess: false,
      limits: { package: { limit: 1, windowMs: 1, burst: 1 }, custom: {} },
    },
    ...more,
  };
}

/** A vault of the caller's account, made through the API. */
export async function makeVault(
  service: TestService,
  auth: Auth,
  name = "Muhasebe",
  more: object = {},
): Promise<string> {
  const made = await service.send("POST", "/v1/vaults", { json: { name, ...more }, headers: auth });
  assert.equal(made.status, 201, made.body.toString());
  return String(made.json?.id);
}

/** A source, made through the API. */
export async function makeSourceBy(service: TestService, auth: Auth, name: string, more: object = {}): Promise<string> {
  const made = await service.send("POST", "/v1/sources", { json: { name, ...more }, headers: auth });
  assert.equal(made.status, 201, made.body.toString());
  return String(made.json?.id);
}

/** The names in a list, in its order. */
export async function namesIn(service: TestService, auth: Auth, target: string): Promise<string[]> {
  const answer = await service.send("GET", target, { headers: auth });
  assert.equal(answer.status, 200, answer.body.toString());
  return listIn<{ name: string }>(answer, "data").map(({ name }) => name);
}

export async function defaultVaultId(service: TestService, auth: Auth): Promise<string> {
  const answer = await service.send("GET", "/v1/vaults?kind=default", { headers: auth });
  return listIn<{ id: string }>(answer, "data")[0]?.id ?? assert.fail("no default vault");
}

/** The actions of an account's audit records, oldest first. */
export async function auditedActions(service: TestService, accountId: string | null): Promise<string[]> {
  const found = await storedRows<{ action: string }>(
    service.database,
    "select action from emanet.audit_records where account_id = $1 order by seq",
    [accountId],
  );
  return found.map(({ action }) => action);
}

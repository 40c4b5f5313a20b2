/** The environment of tests of a vault's chain: nights of backups, other processes, and stores that lag or stop. */

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { MemoryStore } from "@emanet/storage";
import type { Catalog } from "../../../packages/engine/src/catalog/catalog.ts";
import { MemoryCatalog } from "../../../packages/engine/src/catalog/memory.ts";
import { openSqliteCatalog } from "../../../packages/engine/src/catalog/sqlite/sqlite.ts";
import { VaultChain } from "../../../packages/engine/src/catalog/vault-chain.ts";
import type { ObjectStore } from "../../../packages/engine/src/object-store.ts";
import type { TestContext, TestEnvironment } from "../../../packages/engine/src/testing/test-environment.ts";
import {
  masterKey,
  openTestEnvironment,
  scratch,
  seededBytes,
  settleTimes,
  testContext,
  testEnvironmentOf,
  vaultId,
} from "../../../packages/engine/src/testing/test-environment.ts";
import type { Vault } from "../../../packages/engine/src/vault.ts";
import { identityOf, openVault } from "../../../packages/engine/src/vault.ts";

/** Every test of the chain runs with both. */
export const catalogs: Readonly<Record<string, (ctx: TestContext) => Catalog>> = {
  memory: (ctx) => new MemoryCatalog(ctx),
  SQLite: (ctx) => openSqliteCatalog(":memory:", ctx),
};

export type NewCatalog = (ctx: TestContext) => Catalog;

export interface Prepared {
  readonly folder: string;
  readonly from: string;
  readonly store: MemoryStore;
  readonly env: TestEnvironment;
  readonly newCatalog: NewCatalog;
}

export const held = { expiresAt: null, lockedUntil: null, hold: true };
export const free = { expiresAt: null, lockedUntil: null, hold: false };

/** A vault without snapshots. Its chain has one record. */
export async function prepare(t: { after(fn: () => void): void }, newCatalog: NewCatalog): Promise<Prepared> {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  writeFileSync(path.join(from, "a"), seededBytes(41)(40_000));
  settleTimes(from);
  const store = new MemoryStore();
  const env = await openTestEnvironment(store, { catalog: newCatalog(testContext(8)) });
  return { folder, from, store, env, newCatalog };
}

/** Another night: one more file. Adds one record to the chain. */
export async function night({ from, env }: Pick<Prepared, "from" | "env">, number: number, more = {}) {
  writeFileSync(path.join(from, `night ${number}`), seededBytes(50 + number)(20_000));
  settleTimes(from);
  env.ctx.advance(1000);
  return (await env.backup(from, more)).snapshot;
}

/** A new process with the same store and an empty catalog. */
export async function withNewCatalog({ env, store, newCatalog }: Prepared): Promise<Vault> {
  return openVault({ ctx: env.ctx, store, catalog: newCatalog(testContext(99)) }, masterKey, vaultId);
}

/** Another process with the same catalog, which sees the store as `store`. */
export function processWith(vault: Vault, store: ObjectStore): Vault {
  return { ...vault, store, chain: new VaultChain({ store, names: vault.names, ...identityOf(vault) }) };
}

/** The backups of another process. */
export function nightsOf(prepared: Prepared, vault: Vault): Prepared {
  return { ...prepared, env: testEnvironmentOf(prepared.env.ctx, vault, prepared.env.writer) };
}

export async function copyOf(store: MemoryStore): Promise<MemoryStore> {
  const copy = new MemoryStore();
  for await (const { name } of store.list("vaults/")) await copy.put(name, await store.get(name));
  return copy;
}

/** Takes an object out of the store. The function that it returns puts the object back. */
export async function takeAway(store: MemoryStore, name: string): Promise<() => Promise<void>> {
  const bytes = await store.get(name);
  await store.delete(name);
  return () => store.put(name, bytes);
}

/** The same store with other methods in the place of some. */
function changedStore(inner: MemoryStore, methods: Partial<ObjectStore>): ObjectStore {
  return {
    put: (...args) => inner.put(...args),
    get: (...args) => inner.get(...args),
    stat: (...args) => inner.stat(...args),
    list: (...args) => inner.list(...args),
    delete: (...args) => inner.delete(...args),
    ...methods,
  };
}

/** A store whose listing does not show these names yet. They can be read. */
export function lagging(inner: MemoryStore, hides: (name: string) => boolean): ObjectStore {
  return changedStore(inner, {
    list: async function* (prefix, options) {
      for await (const entry of inner.list(prefix, options)) if (!hides(entry.name)) yield entry;
    },
  });
}

/** Runs `before` once, when the store is about to write an object whose name contains `part`. */
export function oncePut(inner: MemoryStore, part: string, before: () => Promise<unknown>): ObjectStore {
  let done = false;
  return changedStore(inner, {
    put: async (name, ...rest) => {
      if (name.includes(part) && !done) {
        done = true;
        await before();
      }
      return inner.put(name, ...rest);
    },
  });
}

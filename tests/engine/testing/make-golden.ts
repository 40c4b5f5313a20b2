/**
 * Makes the golden vault of the current format: `node tools/run.mjs tests/engine/testing/make-golden.ts FILE`. Run once per
 * format version; afterwards the file is never made again (docs/FORMAT.md, section 11).
 */

import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { MemoryStore } from "@emanet/storage";
import { MemoryCatalog } from "../../../packages/engine/src/catalog/memory.ts";
import { hex } from "../../../packages/engine/src/format/bytes.ts";
import {
  describeTree,
  masterKey,
  openTestEnvironment,
  seededBytes,
  settleTimes,
  testContext,
  testEnvironmentOf,
  vaultId,
} from "../../../packages/engine/src/testing/test-environment.ts";
import { deleteSnapshot, setRetention } from "../../../packages/engine/src/upkeep/snapshot-changes.ts";
import { rotateVaultKeys } from "../../../packages/engine/src/vault.ts";

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error("name the file to write");
const folder = mkdtempSync(path.join(tmpdir(), "emanet-golden-"));
try {
  const from = path.join(folder, "from");
  mkdirSync(path.join(from, "alt", "bo\u015f"), { recursive: true });
  const bytes = seededBytes(91);
  // A page file, text, a zero file, an empty file, a hard link and a symbolic link.
  const pages = Buffer.alloc(600 * 1024);
  Buffer.from("SQLite format 3\0").copy(pages);
  pages.writeUInt16BE(8192, 16);
  for (let at = 8192; at < pages.length; at += 8192) pages.set(bytes(64), at);
  writeFileSync(path.join(from, "a.sqlite"), pages);
  writeFileSync(path.join(from, "alt", "fatura.xml"), "<Invoice>".repeat(4000));
  writeFileSync(path.join(from, "alt", "gizli \u0130"), bytes(9000));
  writeFileSync(path.join(from, "zeros"), Buffer.alloc(300_000));
  writeFileSync(path.join(from, "empty"), "");
  linkSync(path.join(from, "alt", "gizli \u0130"), path.join(from, "second name"));
  symlinkSync("alt/fatura.xml", path.join(from, "link"));
  settleTimes(from);
  const store = new MemoryStore();
  const ctx = testContext(17);
  const env = await openTestEnvironment(store, { seed: 17, catalog: new MemoryCatalog(ctx) });
  const { snapshot: first } = await env.backup(from, { sourceName: "golden" });
  env.ctx.advance(100_000);
  const rotated = testEnvironmentOf(env.ctx, await rotateVaultKeys(env.vault, masterKey), env.writer);
  writeFileSync(path.join(from, "alt", "new"), bytes(5000));
  settleTimes(from);
  const details = {
    taxpayer: "1234567890",
    label: "ay sonu",
    trigger: "schedule",
    externalReference: "ref-1",
    metadata: '{"a":1}',
    parent: first.id,
  };
  const { snapshot } = await rotated.backup(from, { sourceName: "golden", details });
  const lockedUntil = 4_102_444_900_000;
  await setRetention(
    rotated.vault,
    snapshot.id,
    { expiresAt: null, lockedUntil, hold: true },
    { reason: "dava", by: "test" },
  );
  await deleteSnapshot(rotated.vault, first.id, { by: "test" });
  const objects: Record<string, string> = {};
  for await (const { name } of store.list("vaults/"))
    objects[name] = Buffer.from(await store.get(name)).toString("base64");
  const golden = {
    about: "A vault written by format version 2. Never made again: see docs/FORMAT.md, section 11.",
    master_key: masterKey.toString("hex"),
    vault: hex(vaultId),
    snapshot: snapshot.id,
    deleted: first.id,
    root_id: hex(snapshot.rootId),
    details,
    tree: describeTree(from),
    objects,
  };
  writeFileSync(file, `${JSON.stringify(golden, null, 2)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

import assert from "node:assert/strict";
import { lstat, mkdir, readlink, stat, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { findBinaries, linkLibraries } from "./binaries.ts";

test("the packaged PostgreSQL runs and tells its version", async () => {
  const binaries = await findBinaries();
  assert.ok(binaries.major >= 15);
  assert.ok((await stat(binaries.initdb)).isFile());
});

test("library links are made by many starters at once, and made once", async (t) => {
  const folder = await fakePackage(t);
  await Promise.all(Array.from({ length: 20 }, () => linkLibraries(folder)));
  const library = path.join(folder, "native", "lib", "libpq.so.5");
  assert.equal(await readlink(library), "libpq.so.5.18");
  const { mtimeMs } = await lstat(path.dirname(library));
  await linkLibraries(folder);
  assert.equal((await lstat(path.dirname(library))).mtimeMs, mtimeMs, "links that are there must not be written again");
});

test("a link that cannot be made is named, with its remedy", async (t) => {
  const folder = await fakePackage(t);
  await symlink("elsewhere.so", path.join(folder, "native", "lib", "libpq.so.5"));
  await assert.rejects(linkLibraries(folder), {
    code: "postgres_missing",
    message: /libpq\.so\.5 -> libpq\.so\.5\.18 is missing and cannot be made .*EEXIST/,
  });
});

test("a program that is not PostgreSQL is refused", async () => {
  await assert.rejects(findBinaries("/bin"), { code: "postgres_missing" });
});

async function fakePackage(t: TestContext): Promise<string> {
  const folder = await temporaryFolder(t);
  await mkdir(path.join(folder, "native", "lib"), { recursive: true });
  await writeFile(path.join(folder, "native", "lib", "libpq.so.5.18"), "");
  const links = ["libpq.so", "libpq.so.5"].map((name) => ({
    source: "native/lib/libpq.so.5.18",
    target: `native/lib/${name}`,
  }));
  await writeFile(path.join(folder, "native", "pg-symlinks.json"), JSON.stringify(links));
  return folder;
}

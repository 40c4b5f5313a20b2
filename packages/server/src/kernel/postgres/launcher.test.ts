import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { chown, mkdtemp, rmdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { startProgram } from "../../testing/child.ts";
import { noProcessIn } from "../../testing/processes.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { chooseLauncher } from "./launcher.ts";

const nobody = 65_534;
const asNobody = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];

test("the user who runs the tests can run a data folder, root included", async (t) => {
  const folder = await temporaryFolder(t);
  const user = await wholeLife(t, folder, []);
  assert.equal((await stat(path.join(folder, "postgres"))).uid, user, "a cluster belongs to the user who runs it");
});

test("root runs a cluster that belongs to another user as that user, in a folder closed to it", async (t) => {
  if (!isRoot(t)) return;
  const folder = await temporaryFolder(t);
  await wholeLife(t, folder, []);
  await promisify(execFile)("chown", ["-R", `${nobody}:${nobody}`, path.join(folder, "postgres")]);
  assert.equal(await wholeLife(t, folder, []), nobody);
  assert.equal((await stat(folder)).uid, 0);
});

test("where root may make no user namespace, its cluster is run as nobody", async (t) => {
  if (!isRoot(t)) return;
  const folder = await temporaryFolder(t);
  await wholeLife(t, folder, []);
  const withoutNamespaces = await forbidNamespaces(t);
  if (withoutNamespaces === null) return;
  assert.equal(await wholeLife(t, folder, withoutNamespaces), nobody);
  assert.equal((await stat(path.join(folder, "postgres"))).uid, nobody);
  assert.equal(await wholeLife(t, folder, []), nobody);
});

test("an ordinary user runs their own data folder", async (t) => {
  if (!isRoot(t) || !reachableForOthers(t)) return;
  const folder = await temporaryFolder(t);
  await chown(folder, nobody, nobody);
  assert.equal(await wholeLife(t, folder, asNobody), nobody);
});

test("a launcher is taken only if PostgreSQL runs under it and can write into the folder", async (t) => {
  const folder = await temporaryFolder(t);
  const options = { folder, postgres: "/bin/false", clusterOwner: null, tied: true };
  if (process.getuid?.() === 0) await assert.rejects(chooseLauncher(options), { code: "postgres_failed" });
  else assert.deepEqual(await chooseLauncher(options), { words: [] });
});

/** Opens, starts, migrates and stops a data folder in a separate process; returns the user that the server ran as. */
async function wholeLife(t: TestContext, folder: string, prefix: readonly string[]): Promise<number> {
  const program = startProgram(t, "start-and-stop", { args: [folder], prefix });
  const user = Number((await program.line()).replace("user ", ""));
  assert.equal(await program.line(), "stopped");
  assert.equal((await program.exit()).code, 0);
  await noProcessIn(path.join(folder, "postgres"));
  return user;
}

/** A command prefix under which user namespaces cannot be created: Linux refuses them to processes in a chroot. */
async function forbidNamespaces(t: TestContext): Promise<readonly string[] | null> {
  const root = await mkdtemp(path.join(tmpdir(), "emanet-root-"));
  // Not recursive, ever: inside the mount namespace below, everything is in there.
  t.after(() => rmdir(root));
  const words = ["unshare", "--mount", "sh", "-c", 'mount --rbind / "$0" && exec chroot "$0" "$@"', root];
  const [command = "", ...rest] = words;
  try {
    await promisify(execFile)(command, [...rest, "true"]);
  } catch {
    t.skip("needs the right to mount");
    return null;
  }
  await assert.rejects(
    promisify(execFile)(command, [...rest, "unshare", "--user", "true"]),
    "namespaces must be refused",
  );
  return words;
}

function isRoot(t: TestContext): boolean {
  if (process.getuid?.() === 0) return true;
  t.skip("needs root, to become other users");
  return false;
}

/** The pinned Node and this checkout may lie in a folder that only root may enter. */
function reachableForOthers(t: TestContext): boolean {
  const [command = "", ...words] = [...asNobody, process.execPath, "--check", import.meta.filename];
  try {
    execFileSync(command, words, { stdio: "ignore" });
    return true;
  } catch {
    t.skip("this checkout is in a folder that only root may enter; run the tests as that user instead");
    return false;
  }
}

import assert from "node:assert/strict";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { Worker } from "node:worker_threads";
import { startProgram } from "../testing/child.ts";
import { silentLog } from "../testing/database.ts";
import { scaled } from "../testing/scale.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { openDataFolder } from "./data-folder.ts";

const sandbox = { profile: "sandbox", log: silentLog } as const;

describe("the lock of a data folder", () => {
  test("a second service on the folder is refused at once, with the folder and the process that holds it", async (t) => {
    const folder = await temporaryFolder(t);
    const holder = startProgram(t, "hold-data-folder", { args: [folder] });
    assert.equal(await holder.line(), "open");
    await assert.rejects(openDataFolder({ folder, ...sandbox }), (error: Error & { code: string }) => {
      assert.equal(error.code, "folder_in_use");
      assert.ok(error.message.includes(folder) && error.message.includes(`process ${holder.pid}`), error.message);
      return true;
    });
  });

  test("a folder whose holder was killed with kill -9 opens again, every time", async (t) => {
    const folder = await temporaryFolder(t);
    for (let kill = 0; kill < scaled(3, 30); kill += 1) {
      const holder = startProgram(t, "hold-data-folder", { args: [folder] });
      assert.equal(await holder.line(), "open");
      await holder.kill();
    }
    await (await openDataFolder({ folder, ...sandbox })).close();
  });

  test("a folder that was closed opens again, in the same process and in another", async (t) => {
    const folder = await temporaryFolder(t);
    for (let round = 0; round < 2; round += 1) {
      const open = await openDataFolder({ folder, ...sandbox });
      await open.close();
      await open.close();
    }
    const next = startProgram(t, "hold-data-folder", { args: [folder] });
    assert.equal(await next.line(), "open");
    await assert.rejects(openDataFolder({ folder, ...sandbox }), { code: "folder_in_use" });
    next.process.stdin?.end();
    assert.equal((await next.exit()).code, 0);
    await (await openDataFolder({ folder, ...sandbox })).close();
  });

  test("of many services that start at the same moment on a new folder, exactly one gets it", async (t) => {
    const folder = path.join(await temporaryFolder(t), "new");
    const programs = Array.from({ length: 6 }, () => startProgram(t, "hold-data-folder", { args: [folder] }));
    const answers = await Promise.all(programs.map((program) => program.line()));
    assert.equal(answers.filter((answer) => answer === "open").length, 1, answers.join("\n"));
    const refused = answers.filter((answer) => answer !== "open");
    assert.ok(
      refused.every((answer) => answer.startsWith("folder_in_use ")),
      answers.join("\n"),
    );
  });

  test("threads of one process hold different folders at the same time and exclude each other on the same one", async (t) => {
    const shared = await temporaryFolder(t);
    const folders = await Promise.all([1, 2, 3].map(() => temporaryFolder(t)));
    const answers = await Promise.all([...folders, shared, shared].map((folder) => openInThread(t, folder)));
    assert.deepEqual(answers.slice(0, 3), ["open", "open", "open"]);
    assert.deepEqual(answers.slice(3).sort(), ["folder_in_use", "open"]);
  });
});

describe("the label of a data folder", () => {
  test("a folder made for one profile does not open under another, and says which one it belongs to", async (t) => {
    const folder = await temporaryFolder(t);
    await (await openDataFolder({ folder, ...sandbox })).close();
    await assert.rejects(openDataFolder({ folder, profile: "production", log: silentLog }), {
      code: "folder_other_profile",
      message: /belongs to profile sandbox .* Set EMANET_PROFILE=sandbox/,
    });
    await (await openDataFolder({ folder, ...sandbox })).close();
  });

  test("a folder of a newer format is refused and keeps its label", async (t) => {
    const folder = await temporaryFolder(t);
    const label = path.join(folder, "folder.json");
    await writeFile(label, '{"format":2,"profile":"sandbox","later":true}');
    await assert.rejects(openDataFolder({ folder, ...sandbox }), { code: "folder_newer" });
    assert.equal(await readFile(label, "utf8"), '{"format":2,"profile":"sandbox","later":true}');
  });

  for (const damaged of ["", "null", "{", '{"format":"1","profile":"sandbox"}', '{"format":1}']) {
    test(`a damaged label (${damaged || "empty"}) is refused, not replaced`, async (t) => {
      const folder = await temporaryFolder(t);
      await writeFile(path.join(folder, "folder.json"), damaged);
      await assert.rejects(openDataFolder({ folder, ...sandbox }), { code: "folder_unusable", message: /damaged/ });
      assert.equal(await readFile(path.join(folder, "folder.json"), "utf8"), damaged);
    });
  }

  test("a refused folder is not left locked", async (t) => {
    const folder = await temporaryFolder(t);
    await (await openDataFolder({ folder, ...sandbox })).close();
    await assert.rejects(openDataFolder({ folder, profile: "local", log: silentLog }), {
      code: "folder_other_profile",
    });
    const next = startProgram(t, "hold-data-folder", { args: [folder] });
    assert.equal(await next.line(), "open");
  });
});

describe("the folder itself", () => {
  test("it and the folders above it are made, closed to other users", async (t) => {
    const folder = path.join(await temporaryFolder(t), "a", "b");
    const open = await openDataFolder({ folder, ...sandbox });
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
    assert.equal(open.path("outbox", "x"), path.join(folder, "outbox", "x"));
    await open.close();
  });

  test("an empty folder that others could read is closed to them", async (t) => {
    const folder = await temporaryFolder(t);
    await chmod(folder, 0o755);
    await (await openDataFolder({ folder, ...sandbox })).close();
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
  });

  test("a folder with other files is refused and not changed", async (t) => {
    const folder = await temporaryFolder(t);
    await mkdir(path.join(folder, "Documents"));
    await chmod(folder, 0o755);
    await assert.rejects(openDataFolder({ folder, ...sandbox }), { code: "folder_unusable", message: /is not empty/ });
    assert.equal((await stat(folder)).mode & 0o777, 0o755);
    await assert.rejects(stat(path.join(folder, "emanet.lock")), { code: "ENOENT" });
  });

  test("a path that is a file is refused with its name", async (t) => {
    const file = path.join(await temporaryFolder(t), "file");
    await writeFile(file, "");
    await assert.rejects(openDataFolder({ folder: file, ...sandbox }), (error: Error & { code: string }) => {
      return error.code === "folder_unusable" && error.message.includes(file);
    });
  });
});

/** Opens a folder in a thread that lives until the end of the test. */
async function openInThread(t: { after(done: () => Promise<unknown>): void }, folder: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const url = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);
  const source = `
    const { parentPort } = await import("node:worker_threads");
    const { openDataFolder } = await import(${url("./data-folder.ts")});
    const { silentLog } = await import(${url("../testing/database.ts")});
    const options = { folder: ${JSON.stringify(folder)}, profile: "sandbox", log: silentLog };
    globalThis.held = await openDataFolder(options).catch((error) => error);
    parentPort.postMessage(held.code ?? "open");
    parentPort.on("message", () => {});`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`));
  t.after(() => worker.terminate());
  worker.once("message", resolve);
  worker.once("error", reject);
  return promise;
}

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { type Program, startProgram } from "../../testing/child.ts";
import { silentLog } from "../../testing/database.ts";
import { noProcessIn, processEnded } from "../../testing/processes.ts";
import { scaled } from "../../testing/scale.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { openDataFolder } from "../data-folder.ts";
import { startEmbeddedPostgres } from "./embedded.ts";

/** How a service dies. */
const deaths = [
  { name: "the service alone, and the kernel stops its server", tied: "tied", killServer: false },
  { name: "the service alone, and its server goes on as an orphan", tied: "untied", killServer: false },
  { name: "the service and its server at once", tied: "tied", killServer: true },
] as const;

test("kill -9 during writes: the service starts again each time and nothing acknowledged is missing", async (t) => {
  const folder = await temporaryFolder(t);
  const acknowledged = new Set<number>();
  for (let round = 0; round < scaled(deaths.length + 1, 99); round += 1) {
    const death = deaths[round % deaths.length] ?? deaths[0];
    const service = startProgram(t, "write-rows", { args: [folder, death.tied] });
    assertNothingMissing(numbers(await service.line()), acknowledged, round);
    const server = Number((await service.line()).replace("server ", ""));
    // From the middle of the first writes to well into a steady load.
    for (let count = 0; count < 1 + ((round * 37) % 200); count += 1) note(acknowledged, await service.line());
    if (death.killServer) process.kill(server, "SIGKILL");
    await service.kill();
    // The next start must not depend on it, but no server may be left running.
    if (death.tied === "tied") await processEnded(server);
    await noteRest(acknowledged, service);
  }
  const open = await openDataFolder({ folder, profile: "sandbox", log: silentLog });
  const postgres = await startEmbeddedPostgres({ folder, log: silentLog });
  await postgres.stop();
  await open.close();
  await noProcessIn(path.join(folder, "postgres"));
  assert.ok(acknowledged.size > 0);
});

function assertNothingMissing(found: ReadonlySet<number>, acknowledged: ReadonlySet<number>, round: number): void {
  const missing = [...acknowledged].filter((n) => !found.has(n));
  assert.deepEqual(missing, [], `acknowledged before start ${round}, and gone`);
}

function numbers(line: string): ReadonlySet<number> {
  assert.match(line, /^found /);
  return new Set(line.slice("found ".length).split(",").filter(Boolean).map(Number));
}

function note(acknowledged: Set<number>, line: string): void {
  assert.match(line, /^acked \d+$/);
  acknowledged.add(Number(line.slice("acked ".length)));
}

/** What it said between the last line read and its death was acknowledged, too. */
async function noteRest(acknowledged: Set<number>, service: Program): Promise<void> {
  for (;;) {
    const line = await service.line().catch(() => null);
    if (line === null) return;
    // The kill may have cut the last line short.
    if (/^acked \d+$/.test(line)) note(acknowledged, line);
  }
}

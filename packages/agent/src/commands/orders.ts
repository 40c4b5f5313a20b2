/**
 * `orders`: waits for restores that people order onto this machine, and does them. Only below the folders that are named here; without
 * one, in new folders of its own.
 */

import { existsSync, lstatSync, mkdirSync, realpathSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { ConnectionError, type Order, ProblemError } from "@emanet/client/source";
import { connect } from "../api/connection.ts";
import { ensureAgent } from "../api/registration.ts";
import { noteRelease } from "../api/release.ts";
import { CommandFailure, exitCodes, usage } from "../failure.ts";
import type { OrderRun, Permissions } from "../orders/run-order.ts";
import { rootOf, runOrder } from "../orders/run-order.ts";
import { safeText } from "../output/safe-text.ts";
import type { Command, Run } from "./command.ts";
import { sayNewerVersion, threadsOf } from "./options.ts";

/** Seconds of one call that waits. */
const waitSeconds = 25;

/** A service that is away is asked again after this time. */
const pauseMs = 15_000;

export const orders: Command = async (run) => {
  const { line } = run;
  if (run.environment.platform !== "linux") throw new CommandFailure("orders are done on Linux only");
  const permissions = permissionsOf(run);
  const connection = connect(run, "writing");
  try {
    const { client } = connection;
    const { id } = await ensureAgent(run, connection);
    const roots = permissions.roots.map((root) => root.path);
    const agent = await client.agents.update({
      id,
      body: { roots, allow_overwrite: permissions.allowsOverwrite, version: run.version },
    });
    noteRelease(run, connection.folder, agent);
    sayNewerVersion(run, connection.folder);
    const order: OrderRun = {
      client,
      runId: run.newKey(),
      permissions,
      threads: threadsOf(line, availableParallelism()),
    };
    run.data({ type: "waiting", agent_id: id, roots, allow_overwrite: permissions.allowsOverwrite });
    for (const root of roots) run.say(safeText(root));
    let isWhole = true;
    do isWhole = (await takeOrders(run, order, id)) && isWhole;
    while (!line.has("once") && !run.signal.aborted);
    return isWhole ? exitCodes.done : exitCodes.incomplete;
  } finally {
    connection.close();
  }
};

/** The folders that the owner of this machine opened. Their paths are without links from the start. */
function permissionsOf({ line, environment }: Run): Permissions {
  const named = line.list("root").map((each) => folderOf(path.resolve(each)));
  const own = path.join(environment.stateFolder, "restored");
  if (named.length === 0) mkdirSync(own, { recursive: true, mode: 0o700 });
  const roots = named.length === 0 ? [realpathSync(own)] : named;
  return { roots: roots.map(rootOf), allowsOverwrite: line.has("allow-overwrite") };
}

function folderOf(root: string): string {
  if (!existsSync(root)) throw usage(`not found: ${root}`);
  const folder = realpathSync(root);
  if (!lstatSync(folder).isDirectory()) throw usage(`--root takes a folder, and ${root} is none`);
  return folder;
}

/** Takes the orders that are there, or waits for one. Returns whether all of them were completed. */
async function takeOrders(run: Run, order: OrderRun, agentId: string): Promise<boolean> {
  const { line, signal } = run;
  let all: readonly Order[];
  try {
    const wait = line.has("once") ? 0 : waitSeconds;
    ({ data: all } = await order.client.orders.list({ id: agentId, wait, run_id: order.runId }, { signal }));
  } catch (error) {
    if (signal.aborted) return true;
    const mayPass = error instanceof ConnectionError || (error instanceof ProblemError && error.status >= 429);
    if (!mayPass || line.has("once")) throw error;
    await run.wait(pauseMs, signal);
    return true;
  }
  let isWhole = true;
  signal.throwIfAborted();
  for (const each of all) {
    const end = await runOrder(run, order, each);
    run.data({ type: "order", id: each.id, snapshot_id: each.snapshot_id, end });
    run.say(`${each.id}  ${end}`);
    isWhole = isWhole && end === "completed";
    signal.throwIfAborted();
  }
  return isWhole;
}

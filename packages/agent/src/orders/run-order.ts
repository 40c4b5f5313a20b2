/**
 * One order of the service: restores into a private folder below a root that the machine's owner opened, then moves the files to the place
 * that was named. The machine's own settings decide; what the service compared before counts for nothing here.
 */

import { lstatSync, rmSync } from "node:fs";
import path from "node:path";
import type { EmanetClient, Order, OrderWarning } from "@emanet/client/source";
import { isProblem } from "@emanet/client/source";
import { RemoteReadPort } from "@emanet/engine/remote";
import type { RestoreResult } from "@emanet/engine/restore";
import { RestoreWorkerPool, restoreSnapshot } from "@emanet/engine/restore";
import { orderReads, readCalls } from "../api/calls.ts";
import type { AgentContext } from "../context.ts";
import { systemCode } from "../failure.ts";
import { moveTree, type OnConflict } from "./move-tree.ts";
import { OpenFolder, TargetRefusedError } from "./open-folder.ts";

/** What the owner of this machine permits. */
export interface Permissions {
  /** Folders, with what they were when they were named. The first one takes orders without a path. */
  readonly roots: readonly { readonly path: string; readonly identity: string }[];
  readonly allowsOverwrite: boolean;
}

export interface OrderRun {
  readonly client: EmanetClient;
  readonly runId: string;
  readonly permissions: Permissions;
  readonly threads: number;
}

export type OrderEnd = "completed" | "failed" | "left";

/** The service takes a run for gone after two minutes. */
const reportEveryMs = 30_000;

/** The most warnings of one call. */
const maxWarnings = 1000;

/** Works on an order to its end. `left`: it was canceled, another run has it, or this run was told to end; then the next one goes on. */
export async function runOrder(context: AgentContext, run: OrderRun, order: Order): Promise<OrderEnd> {
  const { client, runId } = run;
  const amount = { bytes_restored: 0, files_restored: 0 };
  try {
    await client.orders.start({ id: order.id, body: { run_id: runId } });
    const timer = setInterval(() => {
      // A report that fails shows in the next call too.
      client.orders.report({ id: order.id, body: { run_id: runId, ...amount } }).catch(() => undefined);
    }, reportEveryMs);
    try {
      const { warnings, isDamaged } = await write(context, run, order, amount);
      await sendWarnings(run, order, amount, warnings);
      const failed = isDamaged && order.on_damage === "fail";
      await finish(run, order, amount, failed ? "content_damaged" : null);
      return failed ? "failed" : "completed";
    } catch (error) {
      if (isProblem(error, "state_conflict") || context.signal.aborted) return "left";
      await finish(run, order, amount, failureOf(error));
      return "failed";
    } finally {
      clearInterval(timer);
    }
  } catch (error) {
    if (isProblem(error, "state_conflict") || isProblem(error, "not_found")) return "left";
    throw error;
  }
}

type Amount = { bytes_restored: number; files_restored: number };
type Failure = "content_damaged" | "target_refused" | "target_full" | "write_failed" | "internal";

function failureOf(error: unknown): Failure {
  if (error instanceof TargetRefusedError) return "target_refused";
  const code = systemCode(error);
  if (code === "ENOSPC" || code === "EDQUOT") return "target_full";
  return code === null ? "internal" : "write_failed";
}

async function finish(
  { client, runId }: OrderRun,
  { id }: Order,
  amount: Amount,
  failure: Failure | null,
): Promise<void> {
  const result = failure === null ? ({ result: "completed" } as const) : ({ result: "failed", failure } as const);
  await client.orders.finish({ id, body: { run_id: runId, ...amount, ...result } });
}

async function sendWarnings(
  { client, runId }: OrderRun,
  { id }: Order,
  amount: Amount,
  all: readonly OrderWarning[],
): Promise<void> {
  for (let first = 0; first < all.length; first += maxWarnings) {
    const warnings = { first, data: all.slice(first, first + maxWarnings) };
    await client.orders.report({ id, body: { run_id: runId, ...amount, warnings } });
  }
}

interface Written {
  readonly warnings: readonly OrderWarning[];
  readonly isDamaged: boolean;
}

async function write(context: AgentContext, run: OrderRun, order: Order, amount: Amount): Promise<Written> {
  const place = openPlace(run.permissions, order);
  const warnings: OrderWarning[] = [];
  try {
    const result = await restore(context, run, order, place.private, amount);
    for (const { path: file, kind } of result.failures) {
      const inside = file.subarray(Buffer.byteLength(place.private.path) + 1);
      warnings.push({ path: pathOf(inside), code: kind === "damage" ? "content_damaged" : "not_written" });
    }
    const isDamaged = result.failures.some(({ kind }) => kind === "damage");
    if (place.target !== null && !(isDamaged && order.on_damage === "fail")) {
      moveTree(place.private, place.target, {
        onConflict: order.on_conflict as OnConflict,
        platform: context.environment.platform,
        warn: ({ path: file, code }) => warnings.push({ path: pathOf(file), code }),
        isOwn: (name) => name.toString("latin1").startsWith(".emanet-restore-"),
      });
      rmSync(place.root.entry(place.name), { recursive: true, force: true });
    }
    return { warnings, isDamaged };
  } finally {
    for (const folder of [place.private, place.target, place.root]) folder?.close();
  }
}

interface OrderPlace {
  readonly root: OpenFolder;
  /** The name of the private folder in the root. */
  readonly name: string;
  readonly private: OpenFolder;
  /** Where the files go in the end; null if they stay in the private folder. */
  readonly target: OpenFolder | null;
}

/** Opens the folders of an order, or refuses it. The private folder has the order's id, so a later run goes on there. */
function openPlace({ roots, allowsOverwrite }: Permissions, order: Order): OrderPlace {
  if (order.on_conflict === "overwrite" && order.path !== null && !allowsOverwrite)
    throw new TargetRefusedError("this machine does not permit to overwrite files");
  const found = roots.find((root) => order.path === null || partsBelow(root.path, order.path) !== null);
  if (found === undefined)
    throw new TargetRefusedError("the path is not below a folder that this machine opened for restores");
  const root = OpenFolder.open(found.path, found.identity);
  const opened: OpenFolder[] = [root];
  try {
    const target = order.path === null ? null : openParts(root, partsBelow(found.path, order.path) ?? [], opened);
    const name = order.path === null ? `emanet-${order.id}` : `.emanet-order-${order.id}`;
    const own = root.enterPrivate(name);
    return { root, name, private: own, target };
  } catch (error) {
    for (const folder of opened) folder.close();
    throw error;
  }
}

/** The folders between a root and a path; null if the path is not below it. */
function partsBelow(root: string, wanted: string): readonly string[] | null {
  if (!path.isAbsolute(wanted) || path.normalize(wanted) !== wanted.replace(/(?<=.)\/$/, "") || wanted.includes("\0"))
    return null;
  const relative = path.relative(root, wanted);
  const parts = relative.split(path.sep).filter((part) => part !== "");
  return parts.includes("..") || path.isAbsolute(relative) ? null : parts;
}

/** Opens folder after folder from the root; those that are missing are made. */
function openParts(root: OpenFolder, parts: readonly string[], opened: OpenFolder[]): OpenFolder {
  let at = root.enter(".", { make: false });
  opened.push(at);
  for (const part of parts) {
    const next = at.enter(part);
    opened.pop()?.close();
    opened.push(next);
    at = next;
  }
  return at;
}

async function restore(
  { wait, signal }: AgentContext,
  { client, threads }: OrderRun,
  order: Order,
  folder: OpenFolder,
  amount: Amount,
): Promise<RestoreResult> {
  const paths = order.paths?.map((each) =>
    typeof each === "string" ? Buffer.from(each) : Buffer.from(each.base64, "base64"),
  );
  const calls = readCalls(orderReads(client, order.id), (ms) => wait(ms));
  const port = await RemoteReadPort.open(calls, { paths: paths ?? [Buffer.alloc(0)], withContent: true });
  const pool = new RestoreWorkerPool(threads);
  try {
    const { root } = port;
    return await restoreSnapshot({
      port,
      pool,
      snapshot: {
        id: order.snapshot_id.replaceAll("-", ""),
        size: order.bytes_total,
        rootOrdinal: root.ordinal,
        rootId: root.id,
      },
      target: folder.path,
      paths,
      owners: false,
      leavesTarget: true,
      signal,
      onProgress: ({ files, bytes }) => {
        amount.files_restored = files;
        amount.bytes_restored = bytes;
      },
    }).then((result) => {
      amount.files_restored = result.files;
      amount.bytes_restored = result.bytes;
      return result;
    });
  } finally {
    await pool.close();
  }
}

function pathOf(bytes: Uint8Array): OrderWarning["path"] {
  const buffer = Buffer.from(bytes);
  const text = buffer.toString("utf8");
  return Buffer.from(text).equals(buffer) ? text : { base64: buffer.toString("base64") };
}

/** What a folder is now, for comparison when an order comes. */
export function rootOf(folder: string): Permissions["roots"][number] {
  const { dev, ino } = lstatSync(folder, { bigint: true });
  return { path: folder, identity: `${dev}:${ino}` };
}

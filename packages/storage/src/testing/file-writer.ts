/**
 * A process that writes to a file store until it is done or killed; run by `file-process.test.ts`.
 *
 *   file-writer.ts race <root> <mark> <count>    ifAbsent puts of names n0…; prints how many it won
 *   file-writer.ts replace <root> <bytes>        replaces one object for ever; prints a line before each put
 *   file-writer.ts fill <root>                   on a file system of 4 MiB: what a full disk does; prints its findings
 */

import { randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { isObjectStoreError, type ObjectStore } from "@emanet/engine/object-store";
import { openFileStore } from "../file.ts";
import { patternStream } from "./bodies.ts";

const [verb, root = "", ...rest] = process.argv.slice(2);
const store = await openFileStore({ root, sync: verb === "replace" ? "none" : "full", now: Date.now, randomBytes });

if (verb === "race") print(await race(rest[0] ?? "", Number(rest[1])));
if (verb === "replace") await replaceForEver(Number(rest[0]));
if (verb === "fill") print(await fill());

async function race(mark: string, count: number): Promise<{ won: string[] }> {
  const won: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const code = await codeOf(store.put(`n${n}`, Buffer.from(mark), { ifAbsent: true }));
    if (code === "ok") won.push(`n${n}`);
    else if (code !== "exists") throw new Error(`unexpected ${code}`);
  }
  return { won };
}

async function replaceForEver(bytes: number): Promise<never> {
  for (let version = 0; ; version = (version + 1) % 256) {
    process.stdout.write(`${version}\n`);
    await store.put("replaced", new Uint8Array(bytes).fill(version));
  }
}

async function fill(): Promise<Record<string, unknown>> {
  await store.put("kept", Buffer.from("before"));
  const stream = await codeOf(store.put("large", patternStream(1, 8 * 1024 * 1024)));
  const replace = await codeOf(store.put("kept", patternStream(1, 8 * 1024 * 1024)));
  const absent = await codeOf(store.put("other", patternStream(1, 8 * 1024 * 1024), { ifAbsent: true }));
  const kept = Buffer.from(await store.get("kept")).toString();
  const names = await namesOf(store);
  const temporary = (await readdir(path.join(root, ".tmp"))).length;
  // What was given back can be used: the failed puts hold no space.
  const afterwards = await codeOf(store.put("fits", patternStream(1, 2 * 1024 * 1024)));
  return { stream, replace, absent, kept, names, temporary, afterwards };
}

async function namesOf(of: ObjectStore): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of of.list("")) names.push(name);
  return names;
}

async function codeOf(call: Promise<void>): Promise<string> {
  try {
    await call;
    return "ok";
  } catch (error) {
    if (isObjectStoreError(error)) return error.code;
    throw error;
  }
}

function print(result: unknown): void {
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

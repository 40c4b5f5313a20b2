/**
 * Standard input as a source: one file. It is spooled on disk first, so that a dump of any size needs no memory, and so that an
 * input that breaks off makes no snapshot.
 */

import { createWriteStream, lstatSync, mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { BackupSource, SourceEvent } from "@emanet/engine/backup";
import { usage } from "../failure.ts";

export interface SpooledInput {
  readonly source: BackupSource;
  readonly size: number;
  remove(): void;
}

export interface SpoolOptions {
  readonly folder: string;
  /** The path of the file in the snapshot. */
  readonly name: string;
  readonly now: number;
  readonly signal: AbortSignal;
}

/** Reads the input to its end. An empty input is refused: a dump program that fails writes nothing. */
export async function spoolInput(input: Readable, { folder, name, now, signal }: SpoolOptions): Promise<SpooledInput> {
  const names = name.split("/");
  if (names.some((part) => part === "" || part === "." || part === ".."))
    throw usage(`--stdin takes a file name, not ${name}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = path.join(folder, `stdin-${process.pid}`);
  const remove = () => rmSync(file, { force: true });
  try {
    await pipeline(input, createWriteStream(file, { mode: 0o600 }), { signal });
    const { size } = lstatSync(file);
    if (size === 0) throw usage("standard input is empty");
    return { source: sourceOf(file, names, size, now), size, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

function sourceOf(file: string, names: readonly string[], size: number, now: number): BackupSource {
  return {
    async *walk(): AsyncGenerator<SourceEvent> {
      const folders = names.slice(0, -1);
      yield { type: "enter", path: bytes(""), stat: statOf("", 0o755, now) };
      for (const [i, name] of folders.entries())
        yield { type: "enter", path: bytes(folders.slice(0, i + 1).join("/")), stat: statOf(name, 0o755, now) };
      yield {
        type: "file",
        path: bytes(names.join("/")),
        stat: statOf(names.at(-1) ?? "", 0o600, now),
        size,
        changeStat: { inode: 0n, ctimeNs: BigInt(now) * 1_000_000n },
        content: { path: bytes(file), offset: 0 },
      };
      for (const _ of folders) yield { type: "leave" };
      yield { type: "leave" };
    },
  };
}

function statOf(name: string, mode: number, now: number) {
  const mtimeSeconds = Math.floor(now / 1000);
  return {
    name: bytes(name),
    mode,
    uid: 0,
    gid: 0,
    mtimeSeconds,
    mtimeNanos: (now % 1000) * 1_000_000,
    attributes: [],
  };
}

function bytes(text: string): Buffer {
  return Buffer.from(text);
}

/**
 * What is uploaded, made from a seed. Half of every file can be compressed: lines of accounting texts in small files, pages of
 * a database in the large one. The other half cannot.
 */

import { closeSync, openSync, writeSync } from "node:fs";
import { tarEnd, tarHeaderOf, tarPaddingOf } from "../../packages/server/src/archives/index.ts";
import { groupPages, PageGenerator, sqlServer } from "../ofis/content/pages.ts";
import { SeededRandom } from "../ofis/seeded-random.ts";
import { firmName, operationName } from "../ofis/words.ts";
import type { Scale } from "./scale.ts";

const filesPerFolder = 100;

/** Well above what is written for one small file. */
const writeBytes = 4 * 1024 * 1024;

/** 2026-11-16, in seconds. */
const mtimeSeconds = 1_794_787_200;

/** The path of a small file. */
export function smallPath(index: number): string {
  const folder = String(Math.trunc(index / filesPerFolder)).padStart(4, "0");
  return `klasor-${folder}/belge-${String(index).padStart(6, "0")}.txt`;
}

/** The content of a small file. */
export function smallFile(seed: number, index: number, bytes: number): Buffer {
  const random = new SeededRandom(seed, "small", index);
  let text = "";
  while (text.length < bytes / 2) text += `${operationName(random)};${random.digits(7)};${firmName(random)}\n`;
  const lines = Buffer.from(text).subarray(0, bytes >> 1);
  return Buffer.concat([lines, random.bytes(bytes - lines.length)]);
}

/** Writes an archive of small files. Returns its size. */
export function writeTar(file: string, seed: number, { files, fileBytes }: Pick<Scale, "files" | "fileBytes">): number {
  const member = {
    type: "file",
    mode: 0o644,
    uid: 1000,
    gid: 1000,
    mtimeSeconds,
    mtimeNanos: 0,
    target: null,
  } as const;
  return writeChunks(file, function* () {
    for (let index = 0; index < files; index++) {
      const content = smallFile(seed, index, fileBytes);
      yield tarHeaderOf({ ...member, path: Buffer.from(smallPath(index)), size: content.length });
      yield content;
      yield tarPaddingOf(content.length);
    }
    yield tarEnd;
  });
}

/** Writes one large file: half a megabyte of pages, half a megabyte of other bytes, and so on. */
export function writeLargeFile(file: string, seed: number, { largeBytes }: Scale): number {
  const random = new SeededRandom(seed, "large");
  const pages = new PageGenerator(sqlServer, new SeededRandom(seed, "tables"));
  return writeChunks(file, function* () {
    let page = 0;
    for (let left = largeBytes; left > 0; ) {
      const group = Buffer.alloc(groupPages * sqlServer.pageBytes);
      for (let at = 0; at < group.length; at += sqlServer.pageBytes)
        pages.fill(group.subarray(at, at + sqlServer.pageBytes), page++, random);
      for (const half of [group, random.bytes(group.length)]) {
        yield half.subarray(0, left);
        left -= Math.min(half.length, left);
      }
    }
  });
}

function writeChunks(file: string, chunks: () => Iterable<Buffer>): number {
  const fd = openSync(file, "w");
  let [size, waitingBytes] = [0, 0];
  let waiting: Buffer[] = [];
  const flush = () => {
    for (let rest = Buffer.concat(waiting); rest.length > 0; ) rest = rest.subarray(writeSync(fd, rest));
    waiting = [];
    waitingBytes = 0;
  };
  try {
    for (const chunk of chunks()) {
      waiting.push(chunk);
      waitingBytes += chunk.length;
      size += chunk.length;
      if (waitingBytes >= writeBytes) flush();
    }
    flush();
    return size;
  } finally {
    closeSync(fd);
  }
}

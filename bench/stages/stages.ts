/**
 * The necessary stages of a first backup, each alone on one core: walk, read, cut, hash, compress, seal, name (the hash
 * of a sealed frame), write. The *floor* of a backup is the sum of their CPU times over the bytes that
 * each must see: all bytes are read, cut and hashed; new blocks are compressed, sealed and written.
 * Finding out which blocks are new is not counted: a perfect index costs nothing here. Embedded texts that were there
 * before are counted as cut and hashed, though the engine has found a cheaper way for them (docs/decisions/0124).
 *
 * Times are CPU times of this thread, so that other work on the machine does not count.
 */

import { closeSync, mkdirSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import path from "node:path";
import { zstdCompressSync } from "node:zlib";
import { bundledBelowBytes } from "../../packages/engine/src/backup/bundles.ts";
import { release } from "../../packages/engine/src/format/bytes.ts";
import {
  compressBound,
  compressionOf,
  frameIdOf,
  frameNumber,
  sealFrame,
} from "../../packages/engine/src/format/frame.ts";
import { blockIdLength, digestLength, keyBlockIds } from "../../packages/engine/src/format/hash.ts";
import { isIncompressible } from "../../packages/engine/src/packing/compressibility.ts";
import { frameBufferBytes } from "../../packages/engine/src/packing/frame-builder.ts";
import { type FrameClass, frameBytes } from "../../packages/engine/src/packing/frame-class.ts";
import { folderSource } from "../../packages/engine/src/source/folder-source.ts";
import { workerBufferBytes } from "../../packages/engine/src/workers/cut-worker.ts";
import { CutBlocks, Cutter, coarseBlocks, fineBlocks } from "../../packages/engine/src/workers/cutter/cutter.ts";
import { type PageLayout, probeBytes, recognisePages } from "../../packages/engine/src/workers/cutter/page-files.ts";

export const stageNames = ["walk", "read", "cut", "hash", "compress", "seal", "name", "write"] as const;

export type StageName = (typeof stageNames)[number];

export interface Stage {
  readonly name: StageName;
  readonly bytes: number;
  readonly cpuSeconds: number;
}

/** Size of a pack, which is written at once. */
const packBytes = 16 * 1024 * 1024;

/** Any key will do: the speed does not depend on it. */
const key = Buffer.alloc(32, 5);

interface OpenFrame {
  readonly plain: Buffer;
  filled: number;
}

/** Runs all stages over the tree. `scratch` is a folder for the output of the last stage. */
export async function measureStages(tree: string, scratch: string): Promise<Stage[]> {
  const bench = new StageBench(scratch);
  const files: { path: string; size: number }[] = [];
  const started = bench.begin();
  for await (const event of folderSource(tree).walk())
    if (event.type === "file") files.push({ path: Buffer.from(event.content.path).toString("utf8"), size: event.size });
  bench.end(
    "walk",
    started,
    files.reduce((sum, { size }) => sum + size, 0),
  );
  for (const file of files) bench.file(file.path);
  bench.finish();
  return bench.stages;
}

class StageBench {
  readonly #cutter = new Cutter(key, workerBufferBytes, 1);
  readonly #known = new Set<string>();
  readonly #frames: Record<FrameClass, OpenFrame>;
  readonly #times = new Map<StageName, { bytes: number; micros: number }>();
  readonly #pack = Buffer.allocUnsafe(packBytes);
  /** Used again for every frame, as workers do. */
  readonly #sealed = Buffer.allocUnsafe(frameBufferBytes);
  readonly #scratch: string;
  #packed = 0;
  #packs = 0;
  #counter = 0;

  constructor(scratch: string) {
    this.#scratch = scratch;
    mkdirSync(scratch, { recursive: true });
    const frame = (bytes: number): OpenFrame => ({ plain: Buffer.allocUnsafe(bytes + 65_536), filled: 0 });
    this.#frames = {
      page: frame(frameBytes.page),
      compressible: frame(frameBytes.compressible),
      incompressible: frame(frameBytes.incompressible),
    };
  }

  get stages(): Stage[] {
    return stageNames.map((name) => {
      const { bytes, micros } = this.#times.get(name) ?? { bytes: 0, micros: 0 };
      return { name, bytes, cpuSeconds: micros / 1e6 };
    });
  }

  begin(): number {
    const { user, system } = process.threadCpuUsage();
    return user + system;
  }

  end(name: StageName, started: number, bytes: number): void {
    const before = this.#times.get(name) ?? { bytes: 0, micros: 0 };
    this.#times.set(name, { bytes: before.bytes + bytes, micros: before.micros + this.begin() - started });
  }

  file(file: string): void {
    const fd = openSync(file, "r");
    try {
      const buffer = this.#cutter.buffer(0);
      let shape: PageLayout | null = null;
      for (let at = 0; ; ) {
        const started = this.begin();
        const count = readSync(fd, buffer, 0, buffer.length, at);
        this.end("read", started, count);
        if (count === 0) return;
        if (at === 0) shape = recognisePages(buffer.subarray(0, Math.min(count, probeBytes)), count);
        this.#blocks(buffer.subarray(0, count), at, shape);
        at += count;
      }
    } finally {
      closeSync(fd);
    }
  }

  finish(): void {
    for (const frameClass of ["page", "compressible", "incompressible"] as const) this.#seal(frameClass);
    this.#write();
  }

  #blocks(bytes: Uint8Array, at: number, shape: PageLayout | null): void {
    const frameClass = shape !== null ? "page" : isIncompressible(bytes) ? "incompressible" : "compressible";
    const sizes = frameClass === "incompressible" && bytes.length >= bundledBelowBytes ? coarseBlocks : fineBlocks;
    const cutting = this.begin();
    const ends =
      shape === null
        ? Uint32Array.from(this.#cutter.cut(0, 0, bytes.length, true, sizes))
        : pageEnds(shape, at, bytes.length);
    this.end("cut", cutting, bytes.length);
    const list = new CutBlocks(ends.length);
    const hashing = this.begin();
    list.push(bytes, 0, ends, ends.length, () => false);
    const ids = keyBlockIds(key, list.digests.subarray(0, list.count * digestLength));
    this.end("hash", hashing, bytes.length);
    let from = 0;
    for (const [index, end] of ends.entries()) {
      const id = ids.toString("latin1", index * blockIdLength, (index + 1) * blockIdLength);
      if (!this.#known.has(id)) this.#append(frameClass, bytes.subarray(from, end));
      this.#known.add(id);
      from = end;
    }
  }

  #append(frameClass: FrameClass, block: Uint8Array): void {
    const frame = this.#frames[frameClass];
    if (frame.filled + block.length > frameBytes[frameClass]) this.#seal(frameClass);
    frame.plain.set(block, frame.filled);
    frame.filled += block.length;
  }

  #seal(frameClass: FrameClass): void {
    const frame = this.#frames[frameClass];
    const plain = frame.plain.subarray(0, frame.filled);
    if (plain.length === 0) return;
    const body = frameClass === "incompressible" ? plain : this.#compress(plain);
    const counter = this.#counter++;
    const seal = {
      kind: "data",
      frame: frameNumber(1, counter),
      generation: 0,
      session: 1,
      worker: 0,
      counter,
      contentKey: key,
      binding: key,
    } as const;
    const sealing = this.begin();
    const sealed = sealFrame(seal, body, "none", (length) => this.#sealed.subarray(0, length));
    this.end("seal", sealing, body.length);
    const naming = this.begin();
    frameIdOf(sealed);
    this.end("name", naming, sealed.length);
    if (this.#packed + sealed.length > packBytes) this.#write();
    this.#pack.set(sealed, this.#packed);
    this.#packed += sealed.length;
    frame.filled = 0;
    if (body !== plain) release(body);
  }

  /** With the settings of frames. */
  #compress(plain: Buffer): Buffer {
    const started = this.begin();
    const packed = zstdCompressSync(plain, {
      chunkSize: compressBound(plain.length),
      params: compressionOf(plain.length),
    });
    this.end("compress", started, plain.length);
    return packed;
  }

  #write(): void {
    const file = path.join(this.#scratch, `pack-${this.#packs++}`);
    const started = this.begin();
    const fd = openSync(file, "wx");
    writeSync(fd, this.#pack, 0, this.#packed);
    closeSync(fd);
    this.end("write", started, this.#packed);
    rmSync(file);
    this.#packed = 0;
  }
}

/** Ends of pages in a buffer that starts at `at` of the file. */
function pageEnds({ pageBytes, phase }: PageLayout, at: number, length: number): Uint32Array {
  const ends: number[] = [];
  for (let end = pageBytes - ((((at - phase) % pageBytes) + pageBytes) % pageBytes); end < length; end += pageBytes)
    ends.push(end);
  ends.push(length);
  return Uint32Array.from(ends);
}

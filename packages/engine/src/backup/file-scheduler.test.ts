import assert from "node:assert/strict";
import { test } from "node:test";
import { Bitmap } from "../format/bitmap.ts";
import { fileHash, idLength } from "../format/hash.ts";
import type { SourceEvent } from "../source/source.ts";
import type { CutResult, JobPlan } from "../workers/cut-job-queue.ts";
import { FileScheduler } from "./file-scheduler.ts";
import { TreeWriter } from "./tree-writer.ts";

const stat = { mode: 0o644, uid: 0, gid: 0, mtimeSeconds: 0, mtimeNanos: 0, attributes: [] } as const;

/** Files of a few hundred bytes in one folder, now and then a link between them. */
function* walk(files: number, links: number): Generator<SourceEvent> {
  yield { type: "enter", path: Buffer.alloc(0), stat: { ...stat, name: Buffer.alloc(0) } };
  for (let i = 0; i < files; i++) {
    const name = Buffer.from(`fatura-${String(i).padStart(6, "0")}.xml`);
    const content = { path: name, offset: 0 };
    const changeStat = { inode: 0n, ctimeNs: 0n };
    yield { type: "file", path: name, size: 100 + (i % 7), changeStat, content, stat: { ...stat, name } };
    for (let link = 0; link < links; link++) {
      const linkName = Buffer.from(`fatura-${String(i).padStart(6, "0")}.xml.${String(link).padStart(3, "0")}`);
      yield { type: "link", path: linkName, stat: { ...stat, name: linkName }, target: name };
    }
  }
  yield { type: "leave" };
}

type Bundle = Extract<JobPlan, { kind: "bundle" }>;

function resultOf({ files }: Bundle, ordinal: number): CutResult {
  const id = Buffer.alloc(idLength, ordinal);
  return {
    segments: [{ ordinal, id, bytes: files.reduce((sum, { length }) => sum + length, 0) }],
    parts: files.map(({ length }, first) => ({
      ...{ first, blocks: 1, hash: fileHash(length, [id]), bytes: length, error: null, changed: false },
      ...{ ids: Buffer.alloc(16), lengths: Uint32Array.of(length) },
    })),
    outcome: null,
  };
}

/** The files of each bundle. `isSlow`: a bundle is stored only when the walk waits for it. */
async function bundlesOf(events: Iterable<SourceEvent>, isSlow: boolean): Promise<number[]> {
  const sizes: number[] = [];
  const waiting: (() => void)[] = [];
  let nodes = 1_000_000;
  const tree = new TreeWriter({ nodeKey: Buffer.alloc(32), putNode: () => nodes++ }, new Bitmap(), null, 0, false);
  const upload = {
    cut: async (plan: JobPlan) => {
      assert.ok(plan.kind === "bundle");
      sizes.push(plan.files.length);
      const { promise: done, resolve } = Promise.withResolvers<CutResult>();
      const store = () => resolve(resultOf(plan, sizes.length));
      if (isSlow) waiting.push(store);
      else store();
      return { done };
    },
    join: () => assert.fail("no file is stored already"),
  };
  const scheduler = new FileScheduler(upload, tree, null);
  const finished = async (step: Promise<unknown>): Promise<void> => {
    let isDone = false;
    const end = step.finally(() => {
      isDone = true;
    });
    end.catch(() => undefined);
    for (let turns = 0; !isDone; turns++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (turns % 10 === 9) waiting.shift()?.();
      assert.ok(turns < 10_000, "the walk waits for a bundle that nobody stores");
    }
    await end;
  };
  for (const event of events) await finished(Promise.resolve(scheduler.take(event)));
  await finished(scheduler.finish());
  return sizes;
}

test("the same files form the same bundles, however slowly they are stored", async () => {
  for (const [files, links] of [
    [2_500, 0],
    [250, 9],
    [5, 900],
  ] as const) {
    const fast = await bundlesOf(walk(files, links), false);
    assert.equal(
      fast.reduce((sum, size) => sum + size, 0),
      files,
    );
    assert.deepEqual(await bundlesOf(walk(files, links), true), fast, `${files} ${links}`);
  }
});

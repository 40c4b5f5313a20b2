import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../testing/random-tree.ts";
import { seededBytes } from "../testing/test-environment.ts";
import type { CheckedNode } from "./node-graph.ts";
import { NodeGraph, ReachCounter } from "./node-graph.ts";

const plenty = 1024 * 1024;

function checked(more: Partial<CheckedNode> = {}): CheckedNode {
  return { files: 0, ordinals: [], children: [], firstName: null, lastName: null, ...more };
}

const idOf = (seed: number) => seededBytes(seed)(32);

test("a node is found with everything that was kept of it, and not under another id", () => {
  const graph = new NodeGraph(plenty);
  const node = {
    files: 7,
    ordinals: [3, 900_000],
    children: [],
    firstName: Buffer.from("ı"),
    lastName: Buffer.from("ş"),
  };
  const number = graph.add({ ordinal: 3, id: idOf(1) }, node);
  assert.equal(number, 0);
  assert.equal(graph.find({ ordinal: 3, id: idOf(1) }), 0);
  assert.equal(graph.find({ ordinal: 3, id: idOf(2) }), null);
  assert.equal(graph.add({ ordinal: 3, id: idOf(2) }, node), null);
  assert.deepEqual([graph.files(0), graph.ordinals(0), graph.children(0)], [7, [3, 900_000], []]);
  assert.deepEqual(graph.names(0), { first: node.firstName, last: node.lastName });
  assert.equal(graph.add({ ordinal: 4, id: idOf(4) }, checked({ children: [0] })), 1);
  assert.deepEqual([graph.names(1), graph.children(1)], [{ first: null, last: null }, [0]]);
});

test("nodes that do not fit into the memory are not kept", () => {
  const graph = new NodeGraph(2000);
  const numbers = Array.from({ length: 50 }, (_, i) =>
    graph.add({ ordinal: i, id: idOf(i) }, checked({ ordinals: [i] })),
  );
  const kept = numbers.filter((number) => number !== null);
  assert.ok(kept.length > 5 && kept.length < 30, `${kept.length} nodes`);
  assert.deepEqual(kept, [...kept.keys()]);
});

test("dropped nodes are not found, nor those above them; others are", () => {
  const graph = new NodeGraph(plenty);
  const add = (ordinal: number, children: number[] = []) =>
    graph.add({ ordinal, id: idOf(ordinal) }, checked({ ordinals: [ordinal], children })) ?? assert.fail();
  const [a, b] = [add(1), add(2)];
  const [aboveA, aboveB] = [add(3, [a]), add(4, [b])];
  add(5, [aboveA, aboveB]);
  graph.drop([b], 0);
  const found = [1, 2, 3, 4, 5].filter((ordinal) => graph.find({ ordinal, id: idOf(ordinal) }) !== null);
  assert.deepEqual(found, [1, 3]);
});

test("moving from snapshot to snapshot in any order gives what each of them reaches", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = new SeededRandom(seed);
    const graph = new NodeGraph(plenty);
    const reachOf: Set<number>[] = [];
    for (let node = 0; node < 60; node++) {
      const children = Array.from({ length: node === 0 ? 0 : random.below(4) }, () => random.below(node));
      const ordinals = [node, ...Array.from({ length: random.below(5) }, () => 1000 + random.below(40))];
      graph.add({ ordinal: node, id: idOf(node) }, checked({ ordinals, children }));
      reachOf.push(new Set([...ordinals, ...children.flatMap((child) => [...(reachOf[child] ?? [])])]));
    }
    const counter = new ReachCounter(graph);
    for (let move = 0; move < 30; move++) {
      const roots = Array.from({ length: random.below(3) }, () => random.below(60));
      counter.moveTo(roots);
      const expected = new Set(roots.flatMap((root) => [...(reachOf[root] ?? [])]));
      assert.deepEqual(
        [...counter.reach],
        [...expected].sort((a, b) => a - b),
      );
    }
  }
});

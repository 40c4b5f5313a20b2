/** Random trees: what the projection, search, history and diff say of them is what a plain computation over the trees says. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { sql } from "kysely";
import { pathsOf, search, type VersionJson, versionsOf } from "../search/testing.ts";
import { endMark, member, type SnapshotJson, snapshotTest } from "../snapshots/testing.ts";
import { scaled } from "../testing/scale.ts";
import { seededRandom } from "../testing/seeded-random.ts";
import { jobsDone } from "../testing/sent-messages.ts";
import { defaultVaultId } from "../vaults/testing.ts";
import { beginClearing, unwantSnapshot, wantSnapshot } from "./store.ts";
import { accountRows, allVersions, inAccount, projectorOf } from "./testing.ts";

const env = await snapshotTest({ after });
const vaultId = await defaultVaultId(env.service, env.auth);

type Random = ReturnType<typeof seededRandom>;

interface Entry {
  readonly type: "f" | "d" | "l";
  readonly mode: number;
  readonly mtime: number;
  readonly owner: number;
  /** Of a file its content, of a link its target; two contents have two sizes. */
  readonly content: string;
}

type Tree = ReadonlyMap<string, Entry>;

/** The dots of Turkish letters, accents as one letter or two, capital and wide forms. */
const names = [
  "Işık",
  "ıSPARTA".normalize("NFD"),
  "İzmir",
  "ﬁş",
  "ＡＢＣ",
  "şekeR".normalize("NFD"),
  "100%_a",
  "i\u0307ki",
];
const folders = ["", "a/", "a/b/", "Ç/"];
const places = folders.flatMap((folder) => names.map((name) => `${folder}${name}`));

function entryOf(random: Random): Entry {
  return {
    type: random.integer(6) === 0 ? "l" : "f",
    mode: [0o644, 0o600][random.integer(2)] ?? 0,
    mtime: 1_700_000_000 + random.integer(2),
    owner: random.integer(2),
    content: "x".repeat(1 + random.integer(3)),
  };
}

/** The next tree: a few paths come, go or change in one way. Files become folders, and folders files. */
function nextTree(random: Random, last: Tree): Tree {
  const next = new Map([...last].filter(([, { type }]) => type !== "d"));
  for (let count = 0; count < 5; count++) {
    const place = places[random.integer(places.length)] ?? "";
    const made = entryOf(random);
    const known = next.get(place);
    const kind = random.integer(5);
    if (kind === 0) next.delete(place);
    else if (kind === 1 && known !== undefined) next.set(place, { ...known, owner: 1 - known.owner });
    else if (kind === 2 && known !== undefined) next.set(place, { ...known, mode: made.mode, mtime: made.mtime });
    else next.set(place, made);
  }
  // Now and then a folder has become a file, or has gone.
  for (const folder of ["a", "a/b", "Ç"]) {
    const draw = random.integer(6);
    if (draw < 2) for (const path of [...next.keys()]) if (path.startsWith(`${folder}/`)) next.delete(path);
    if (draw === 0) next.set(folder, entryOf(random));
    else next.delete(folder);
    const isBelow = [...next.keys()].some((path) => folder.startsWith(`${path}/`));
    if (isBelow) next.delete(folder);
  }
  for (const path of [...next.keys()])
    for (let end = path.indexOf("/"); end >= 0; end = path.indexOf("/", end + 1)) {
      const above = path.slice(0, end);
      if (next.get(above) !== undefined && next.get(above)?.type !== "d") next.delete(path);
      else next.set(above, { type: "d", mode: 0o750, mtime: 1_600_000_000, owner: 0, content: "" });
    }
  return next;
}

function tarOfTree(tree: Tree): Buffer {
  const members = [...tree].map(([path, { type, mode, mtime, owner, content }]) => {
    const stat = { mode, mtime, uid: owner };
    if (type === "d") return member({ name: `${path}/`, type: "5", ...stat });
    if (type === "l") return member({ name: path, type: "2", linkName: content, ...stat });
    return member({ name: path, ...stat }, content);
  });
  return Buffer.concat([...members, endMark]);
}

interface Night {
  readonly id: string;
  readonly tree: Tree;
}

const sameFacts = (a: Entry | undefined, b: Entry | undefined) =>
  a === b ||
  (a !== undefined &&
    b !== undefined &&
    [a.type === b.type, a.mode === b.mode, a.mtime === b.mtime, a.content === b.content].every(Boolean));

interface Run {
  readonly path: string;
  readonly entry: Entry;
  readonly nights: readonly string[];
  readonly until: string;
}

/** What was at each path, over consecutive nights. */
function runsOf(nights: readonly Night[]): readonly Run[] {
  const paths = new Set(nights.flatMap(({ tree }) => [...tree.keys()]));
  return [...paths].flatMap((path) => {
    const runs: Run[] = [];
    for (const [at, { id, tree }] of nights.entries()) {
      const entry = tree.get(path);
      if (entry === undefined) continue;
      const until = nights[at + 1]?.id ?? "now";
      const last = runs.at(-1);
      const goesOn = last?.until === id && sameFacts(last.entry, entry);
      if (goesOn) runs[runs.length - 1] = { ...last, nights: [...last.nights, id], until };
      else runs.push({ path, entry, nights: [id], until });
    }
    return runs;
  });
}

function linesOf(source: string, nights: readonly Night[]): string[] {
  const lines = runsOf(nights).map(({ path, entry, nights: of, until }) =>
    [
      ...[source, path, of[0], until, entry.type, ...(entry.type === "f" ? [entry.content.length] : [])],
      ...[entry.mtime, entry.mode],
    ].join(" "),
  );
  return lines.toSorted();
}

/** The rows of the projection, without their hashes. */
const projected = async () => (await allVersions(env, vaultId)).map((line) => line.replace(/ [0-9a-f]{64}$/u, ""));

const random = seededRandom(scaled(23, 2300));
const nights: Night[] = [];
let source = "";
for (let night = 0, tree: Tree = new Map(); night < scaled(10, 40); night++) {
  tree = nextTree(random, tree);
  const answer = await env.upload("source=s", tarOfTree(tree));
  assert.equal(answer.status, 201, answer.body.toString());
  const made = answer.json as SnapshotJson;
  source = made.source.id;
  nights.push({ id: made.id, tree });
}
await jobsDone(env.service, "paths.project_vault");

test("the versions are runs of equal entries; a change of the owner alone makes none", async () => {
  assert.deepEqual(await projected(), linesOf(source, nights));
});

test("the versions are the same wherever one transaction ends and the next begins", async () => {
  for (const changes of [1, 3, scaled(7, 2), scaled(7, 5)]) {
    await inAccount(env, (tx) => beginClearing(tx, vaultId));
    await (await projectorOf(env, vaultId, { sizes: { changes, rows: changes } })).run();
    assert.deepEqual(await projected(), linesOf(source, nights), `${changes}`);
  }
});

test("the versions of the snapshots that are left, in whatever order they come and go", async () => {
  const rows = await accountRows(
    env,
    sql<Parameters<typeof wantSnapshot>[1]>`
      select snapshot_id, account_id, vault_id, source_id, created_at from projected_snapshots where vault_id = ${vaultId}`,
  );
  const wanted = new Set(nights.map(({ id }) => id));
  for (let round = 0; round < scaled(12, 120); round++) {
    for (let count = 1 + random.integer(3); count > 0; count--) {
      const row = rows[random.integer(rows.length)] ?? assert.fail();
      const isWanted = wanted.delete(row.snapshot_id);
      if (!isWanted) wanted.add(row.snapshot_id);
      await inAccount(env, async (tx) =>
        isWanted ? void (await unwantSnapshot(tx, row.snapshot_id)) : wantSnapshot(tx, row),
      );
    }
    await (await projectorOf(env, vaultId, { sizes: { changes: 1 + random.integer(9), rows: 2 } })).run();
    const left = nights.filter(({ id }) => wanted.has(id));
    assert.deepEqual(await projected(), linesOf(source, left), `round ${round}`);
  }
  await inAccount(env, async (tx) => {
    for (const row of rows) await wantSnapshot(tx, row);
  });
  await (await projectorOf(env, vaultId)).run();
  assert.deepEqual(await projected(), linesOf(source, nights));
});

test("history shows each run, with its first and last snapshot", async () => {
  const runs = runsOf(nights);
  for (const path of [...new Set(runs.map((run) => run.path))].filter((_, at) => at % scaled(4, 1) === 0)) {
    const expected = runs
      .filter((run) => run.path === path)
      .map(({ nights: of, entry }) => [of[0], of.at(-1), entry.type, of.at(-1) === nights.at(-1)?.id])
      .toReversed();
    const seen = (version: VersionJson) => [
      ...[version.first_snapshot.id, version.last_snapshot.id, version.type[0], version.is_current],
    ];
    const shown = await versionsOf(env, "s", encodeURIComponent(path), 1 + random.integer(3));
    assert.deepEqual(shown.map(seen), expected, path);
  }
});

/** One letter for each that a person takes for the same, by a table instead of by Unicode. */
const alike: Readonly<Record<string, string>> = {
  ...{ İ: "i", I: "i", ı: "i", Ş: "s", ş: "s", Ç: "c", ç: "c", ğ: "g", Ğ: "g", ﬁ: "fi", Ａ: "a", Ｂ: "b", Ｃ: "c" },
};
const plain = (text: string) =>
  [...text.normalize("NFC").replaceAll("\u0307", "")].map((letter) => alike[letter] ?? letter.toLowerCase()).join("");

test("search finds the names that have every letter of the query, in any spelling", async () => {
  const known = [...new Set(nights.flatMap(({ tree }) => [...tree.keys()]))];
  const spellings = [
    (text: string) => text,
    (text: string) => text.normalize("NFD"),
    (text: string) => text.toUpperCase(),
  ];
  for (let round = 0; round < scaled(25, 250); round++) {
    const letters = [...(names[random.integer(names.length)] ?? "").normalize("NFC")];
    const from = random.integer(letters.length);
    const part = letters.slice(from, from + 1 + random.integer(5)).join("");
    const query = (spellings[random.integer(spellings.length)] ?? plain)(part);
    const folded = plain(query);
    if (folded === "") continue;
    const isFound = (path: string) => {
      const name = plain(path.slice(path.lastIndexOf("/") + 1));
      return folded.length < 3 ? name.startsWith(folded) : name.includes(folded);
    };
    const found = await pathsOf(env, query, "&limit=100");
    assert.deepEqual(found.toSorted(), known.filter(isFound).toSorted(), query);
  }
  const [first] = (await search(env, "isik")).data;
  const lastWith = nights.findLast(({ tree }) => tree.has(first?.path ?? ""));
  assert.equal(first?.last_snapshot.id, lastWith?.id);
});

test("diff names every path whose entry differs, the owner too, from any snapshot to any other", async () => {
  const same = (a: Entry | undefined, b: Entry | undefined) => sameFacts(a, b) && a?.owner === b?.owner;
  for (let round = 0; round < scaled(12, 200); round++) {
    const [before, now] = [0, 0].map(() => nights[random.integer(nights.length)] ?? assert.fail()) as [Night, Night];
    const expected = [...new Set([...before.tree.keys(), ...now.tree.keys()])].filter(
      (path) => !same(before.tree.get(path), now.tree.get(path)),
    );
    const found: string[] = [];
    for (let cursor: unknown = ""; cursor !== null; ) {
      const more = cursor === "" ? "" : `&cursor=${cursor}`;
      const { json } = await env.get(
        `/v1/snapshots/${now.id}/diff?from=${before.id}&limit=${1 + random.integer(9)}${more}`,
      );
      for (const { path } of (json?.data ?? []) as { path: string }[]) found.push(path);
      cursor = json?.next_cursor ?? null;
    }
    assert.deepEqual([...new Set(found)].toSorted(), expected.toSorted());
  }
});

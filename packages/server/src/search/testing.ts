/** What the tests of search and history share. */

import assert from "node:assert/strict";
import type { SnapshotTest } from "../snapshots/testing.ts";
import type { Sent } from "../testing/running.ts";

export interface ShownSnapshot {
  readonly id: string;
  readonly created_at: string;
}

export interface VersionJson {
  readonly type: string;
  readonly size_bytes: number | null;
  readonly hash: string | null;
  readonly first_snapshot: ShownSnapshot;
  readonly last_snapshot: ShownSnapshot;
  readonly is_current: boolean;
}

export interface FoundJson extends VersionJson {
  readonly name: string;
  readonly path: string;
  readonly path_base64?: string;
  readonly vault_id: string;
  readonly source: { readonly id: string; readonly name: string };
}

export interface PageJson<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
  readonly projection: {
    readonly snapshot_id: string | null;
    readonly created_at: string | null;
    readonly waiting: number;
  };
}

function pageOf<Item>(answer: Sent): PageJson<Item> {
  assert.equal(answer.status, 200, answer.body.toString());
  return answer.json as unknown as PageJson<Item>;
}

type Headers = Readonly<Record<string, string>>;

/** A page of a search, as soon as the projection has everything. */
export async function search(env: SnapshotTest, query: string, more = "", headers: Headers = {}) {
  return env.until(async () => {
    const page = pageOf<FoundJson>(await env.get(`/v1/search?query=${encodeURIComponent(query)}${more}`, headers));
    return page.projection.waiting === 0 ? page : null;
  });
}

/** The paths that a search finds. */
export async function pathsOf(env: SnapshotTest, query: string, more = "", headers: Headers = {}): Promise<string[]> {
  return (await search(env, query, more, headers)).data.map(({ path }) => path);
}

/** The versions of a path, page by page, as soon as the projection has everything. */
export async function versionsOf(env: SnapshotTest, source: string, path: string, limit = 100): Promise<VersionJson[]> {
  const all: VersionJson[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const from: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const page: PageJson<VersionJson> = await env.until(async () => {
      const target = `/v1/files/history?source=${source}&path=${path}&limit=${limit}${from}`;
      const found = pageOf<VersionJson>(await env.get(target));
      return found.projection.waiting === 0 ? found : null;
    });
    all.push(...page.data);
    cursor = page.next_cursor;
  }
  return all;
}

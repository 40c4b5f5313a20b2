/** Finds the stored segments that are probably similar to new ones, for all new segments of a call at once (`matcher.ts`). */

import type { Catalog, Item, UploadScope } from "../catalog/catalog.ts";
import { isKnownTo } from "../catalog/rules.ts";
import type { SegmentQuery } from "./upload-target.ts";

/** Similar segments per new segment, and as many that follow them. More of them find hardly any other block. */
const maxSimilarSegments = 8;

/**
 * Catalog calls for items. The first gets the segments at old places and with the same hooks, the second those that follow
 * them. The others serve consecutive segments that share no hook with anything: each call goes one segment further.
 */
const maxItemCalls = 4;

export interface SimilarityOptions {
  readonly catalog: Catalog;
  readonly owner: string;
  readonly scope: UploadScope;
}

/** One new segment. */
interface Search {
  /** Ordinals of segments that may be similar, the likeliest first. */
  readonly wanted: Set<number>;
  /** Ordinals of the segments that have hooks of the segment before it. */
  readonly preceding: readonly number[];
  readonly continues: boolean;
  readonly known: Item | null;
}

/** The similar segments of each query, the likeliest first. None for a segment that is known. */
export async function findSimilarSegments(
  options: SimilarityOptions,
  queries: readonly SegmentQuery[],
  known: readonly (Item | null)[],
): Promise<readonly (readonly Item[])[]> {
  const { catalog, owner, scope } = options;
  const items = new Map<number, Item | null>();
  const usable = (ordinal: number) => {
    const item = items.get(ordinal) ?? null;
    return item !== null && item.kind === "segment" && isKnownTo(owner, scope, item) ? [item] : [];
  };
  const found = (search: Search) => [...search.wanted].slice(0, maxSimilarSegments).flatMap(usable);
  const followers = (search: Search) => {
    const next = found(search).map((item) => item.next);
    return [...new Set(next)].filter((each) => each !== 0 && !search.wanted.has(each)).slice(0, maxSimilarSegments);
  };
  const searches = await startSearches(options, queries, known);
  for (let call = 0; call < maxItemCalls; call++) {
    const missing = new Set<number>();
    for (const [i, search] of searches.entries()) {
      if (search.known !== null) continue;
      const previous = searches[i - 1];
      const before = search.continues && previous !== undefined ? (previous.known ?? found(previous)[0]) : undefined;
      for (const item of before === undefined ? search.preceding.flatMap(usable) : [before])
        if (item.next !== 0) search.wanted.add(item.next);
      for (const ordinal of [...search.wanted, ...search.preceding, ...followers(search)])
        if (!items.has(ordinal)) missing.add(ordinal);
    }
    if (missing.size === 0) break;
    const asked = [...missing];
    for (const [i, item] of (await catalog.itemsByOrdinal(asked)).entries()) items.set(asked[i] ?? 0, item);
  }
  return searches.map((search) =>
    search.known === null ? [...found(search), ...followers(search).flatMap(usable)] : [],
  );
}

/** Looks up all hooks in one call. */
async function startSearches(
  { catalog, owner, scope }: SimilarityOptions,
  queries: readonly SegmentQuery[],
  known: readonly (Item | null)[],
): Promise<Search[]> {
  const hooks = new Set<bigint>();
  for (const [i, query] of queries.entries())
    if (known[i] === null) for (const hook of [...query.hooks, ...query.precedingHooks]) hooks.add(hook);
  const asked = [...hooks];
  const answers = asked.length === 0 ? [] : await catalog.findHooks(owner, asked, scope);
  const ordinals = new Map(asked.map((hook, i) => [hook, answers[i] ?? null]));
  const withHooks = (wanted: readonly bigint[]) =>
    wanted.map((hook) => ordinals.get(hook) ?? null).filter((ordinal) => ordinal !== null);
  return queries.map((query, i) => ({
    wanted: new Set([...query.oldSegments, ...withHooks(query.hooks)]),
    // All hooks of a segment nearly always lead to the same one.
    preceding: withHooks(query.precedingHooks).slice(0, 1),
    continues: query.continues,
    known: known[i] ?? null,
  }));
}

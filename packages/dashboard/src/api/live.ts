/**
 * What happens in the account while the page is open. One tab of the browser waits for events (it holds a lock of the browser)
 * and tells the others over a channel that only pages of this origin hear; each tab then reads again what it shows. So lists
 * are not polled: an event says when they are old.
 */

import { isProblem } from "@emanet/client/source";
import { client, hasManyPages, queries } from "./client.ts";

const lockName = "emanet-events";
const channelName = "emanet-events";

/** The longest wait that the service allows. Its answer comes a little later than the wait ends. */
const waitSeconds = 30;
const timeoutMs = 60_000;

/** The first screen reads what it needs before the wait begins: checked so often, begun when nothing was read so many times. */
const quietCheckMs = 500;
const quietChecks = 3;

/** After an error the next try waits, each time twice as long. */
const firstRetryMs = 2_000;
const lastRetryMs = 60_000;

/** A night brings hundreds of events: what they make old is read again once in this time. */
const gatherMs = 1_000;

/** Where events are off for the account: everything on the page is read again so often. */
const fallbackMs = 60_000;

/** First words of the keys in the cache that an event makes old, by the first word of its type. */
const changedBy: Readonly<Record<string, readonly string[]>> = {
  snapshot: ["snapshots", "nights", "usage", "vaults", "taxpayers", "sources"],
  restore: ["restores"],
  source: ["sources", "nights", "taxpayers", "snapshots"],
  deletion: ["pending-acts", "vaults", "snapshots", "taxpayers", "sources", "retention"],
  vault: ["vaults", "usage"],
  audit: ["audit"],
  account: ["account", "me"],
  mukellef: ["taxpayers", "vaults"],
  webhook: ["webhooks"],
  agent: ["agents"],
};

/** What one tab tells the others: what happened, and the number from which to go on. */
interface Told {
  readonly types: readonly string[];
  readonly after: number;
}

/** Begins to listen; the function that it returns ends it. */
export function listen(): () => void {
  const ended = new AbortController();
  const { signal } = ended;
  const channel = new BroadcastChannel(channelName);
  const gather = gatherer(signal);
  // Every tab knows the number, so that the next one to lead misses nothing.
  let after: number | null = null;
  channel.addEventListener("message", ({ data }: MessageEvent<Told>) => {
    after = data.after;
    gather(data.types);
  });
  const stream: Stream = {
    after: () => after,
    tell(told) {
      after = told.after;
      gather(told.types);
      channel.postMessage(told);
    },
  };
  void begin(stream, signal);
  return () => {
    ended.abort();
    channel.close();
  };
}

interface Stream {
  after(): number | null;
  tell(told: Told): void;
}

/** The number of now comes first, while the page reads its lists: what happens after that is heard. */
async function begin(stream: Stream, signal: AbortSignal): Promise<void> {
  try {
    const { last_sequence: after } = await next(null, signal);
    if (stream.after() === null) stream.tell({ types: [], after });
  } catch {
    // The one who leads asks again.
  }
  // The lock is held until the page is closed or signed out; then another tab leads.
  await navigator.locks.request(lockName, { signal }, () => lead(stream, signal)).catch(() => undefined);
}

async function lead(stream: Stream, signal: AbortSignal): Promise<void> {
  await quiet(signal);
  let retryMs = firstRetryMs;
  let isLost = false;
  while (!signal.aborted) {
    try {
      const { data, last_sequence: after } = await next(isLost ? null : stream.after(), signal);
      // Too much happened to hear of each: everything is read again.
      stream.tell({ types: isLost ? Object.keys(changedBy) : data.map(({ event }) => event), after });
      retryMs = firstRetryMs;
      isLost = false;
    } catch (error) {
      if (signal.aborted) return;
      if (isProblem(error, "feature_not_enabled")) return refreshNowAndThen(signal);
      isLost ||= isProblem(error, "events_expired");
      await pause(retryMs, signal);
      retryMs = Math.min(retryMs * 2, lastRetryMs);
    }
  }
}

/** Without a number: the newest one, at once. */
function next(after: number | null, signal: AbortSignal) {
  const from = after === null ? { after: Number.MAX_SAFE_INTEGER } : { after, wait: waitSeconds };
  return client.events.list(from, { signal, timeoutMs, retries: { max: 0 } });
}

async function quiet(signal: AbortSignal): Promise<void> {
  for (let checks = 0; checks < quietChecks && !signal.aborted; ) {
    await pause(quietCheckMs, signal);
    checks = queries.isFetching() === 0 ? checks + 1 : 0;
  }
}

async function refreshNowAndThen(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(fallbackMs, signal);
    if (document.visibilityState === "visible") await queries.invalidateQueries();
  }
}

/**
 * Collects what events made old, and reads it again once. A list of many pages would be read page by page: when the person is at its top, it begins again with its
 * first page; further down it stays as it is until the person comes back up.
 */
function gatherer(signal: AbortSignal): (types: readonly string[]) => void {
  const old = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | null = null;
  const flush = () => {
    timer = null;
    if (signal.aborted) return;
    const isDeep = scrollY > topPixels;
    for (const key of old) {
      const long = queries.getQueryCache().findAll({ queryKey: [key], predicate: hasManyPages });
      if (isDeep && long.length > 0) {
        void queries.invalidateQueries({ queryKey: [key], predicate: (query) => !hasManyPages(query) });
        continue;
      }
      for (const { queryKey } of long) queries.setQueryData(queryKey, firstPageOf);
      void queries.invalidateQueries({ queryKey: [key] });
      old.delete(key);
    }
  };
  const onScroll = () => {
    if (old.size > 0 && timer === null && scrollY <= topPixels) flush();
  };
  addEventListener("scroll", onScroll, { signal, passive: true });
  return (types) => {
    for (const type of types) {
      const [kind = ""] = type.split(".");
      for (const key of changedBy[kind] ?? []) old.add(key);
    }
    if (types.length > 0 && old.size > 0) timer ??= setTimeout(flush, gatherMs);
  };
}

/** So near to the top of the page a person sees the newest rows. */
const topPixels = 200;

type Pages = { readonly pages: readonly unknown[]; readonly pageParams: readonly unknown[] };

const firstPageOf = (data: Pages | undefined): Pages | undefined =>
  data && { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) };

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

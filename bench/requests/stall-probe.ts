/** Loaded before a server with `--import`: answers the messages `watch` and `stalls` of its parent with what stopped it. */

import { type Stalls, watchStalls } from "./stalls.ts";

let end: (() => Stalls) | null = null;

process.on("message", (message) => {
  if (message === "watch") end = watchStalls();
  if (message === "stalls") process.send?.(end?.() ?? { pauses: [], loopP99Ms: 0, loopMostMs: 0 });
});

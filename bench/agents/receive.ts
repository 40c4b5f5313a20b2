/** A process of clients: it gets its settings, then orders, and answers each with what was done. An order without an end is answered by nothing. */

import type { Answer, Worked } from "./clients.ts";

export function receive<Settings, Order>(open: (settings: Settings) => (order: Order) => Promise<Worked | null>): void {
  let work: ReturnType<typeof open> | null = null;
  process.on("message", (message) => {
    if (work === null) work = open(message as Settings);
    else void answer(work(message as Order));
  });
  // The benchmark has ended.
  process.on("disconnect", () => process.exit(0));
  process.on("SIGTERM", () => process.exit(0));
  process.stdout.write("ready\n");
}

async function answer(working: Promise<Worked | null>): Promise<void> {
  const worked = await working;
  if (worked !== null) process.send?.({ answer: "worked", worked } satisfies Answer);
}

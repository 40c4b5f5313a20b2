/**
 * Emits events of an account, a few per commit, one commit after the other, as the service's own transactions do. Prints how many are
 * committed after each commit. A commit whose outcome is unknown is made again: then there are more events than were asked for.
 *
 *   emit-events.ts <database target as JSON> <account id> <number of events> <pause between commits in ms>
 */

import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { systemClock, systemRandom } from "../../kernel/clock.ts";
import { openPools } from "../../kernel/database/pool.ts";
import { createTransactions } from "../../kernel/tx.ts";
import { snapshotEvents } from "../../snapshots/index.ts";
import { silentLog } from "../database.ts";

const [target = "{}", accountId = "", wanted = "0", pauseMs = "0"] = process.argv.slice(2);
const perCommit = 10;
const [, completed] = snapshotEvents;
if (completed === undefined) throw new Error("there is no such event");
const vaultId = randomUUID();
const signal = new AbortController().signal;
let made = 0;
while (made < Number(wanted)) {
  try {
    const { app, close } = await openPools({ target: JSON.parse(target), log: silentLog, appConnections: 1 });
    const transactions = createTransactions(app, systemClock, systemRandom, silentLog);
    try {
      while (made < Number(wanted)) {
        const context = { actor: { kind: "system" }, context: {}, signal } as const;
        await transactions.run(context, { kind: "account", accountId }, async (tx) => {
          for (let index = 0; index < perCommit; index += 1) {
            tx.emit(completed, { snapshot_id: randomUUID(), size_bytes: index }, { vaultId });
          }
        });
        made += perCommit;
        process.stdout.write(`${made}\n`);
        if (Number(pauseMs) > 0) await delay(Number(pauseMs));
      }
    } finally {
      await close();
    }
  } catch {
    await delay(200);
  }
}

/**
 * A minimal service for crash tests. It opens its data folder, starts its database, prints the rows that it finds
 * (`found 1,2,…`) and the server's process (`server PID`). Then it commits rows as fast as it can and prints `acked N`
 * after each commit, until it is killed.
 *
 *   write-rows.ts <data folder> tied|untied
 */

import { openDataFolder } from "../../kernel/data-folder.ts";
import { openPools } from "../../kernel/database/pool.ts";
import { startEmbeddedPostgres } from "../../kernel/postgres/embedded.ts";
import { silentLog } from "../database.ts";

const writers = 4;

const folder = await openDataFolder({ folder: process.argv[2] ?? "", profile: "sandbox", log: silentLog });
const tied = process.argv[3] === "tied";
const postgres = await startEmbeddedPostgres({ folder: folder.root, log: silentLog, tied });
const { owner } = await openPools({ target: postgres.connection, log: silentLog });
await owner.query("create table if not exists public.crash_rows (n integer primary key)");
const { rows } = await owner.query<{ n: number }>("select n from public.crash_rows order by n");
process.stdout.write(`found ${rows.map((row) => row.n).join(",")}\nserver ${postgres.pid}\n`);

let next = (rows.at(-1)?.n ?? 0) + 1;
await Promise.all(Array.from({ length: writers }, write));

async function write(): Promise<never> {
  for (;;) {
    const n = next++;
    await owner.query("insert into public.crash_rows values ($1)", [n]);
    process.stdout.write(`acked ${n}\n`);
  }
}

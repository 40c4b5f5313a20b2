/** The embedded PostgreSQL of a service that runs on a data folder. */

import { readlinkSync } from "node:fs";
import path from "node:path";
import type { SocketTarget } from "../../packages/server/src/kernel/database/target.ts";
import { socketPort } from "../../packages/server/src/kernel/postgres/settings.ts";

/** As the server's administrator, who sees the rows of every account; as the owner, what a process of the service connects as. */
export function embeddedDatabase(dataFolder: string, user: "postgres" | "emanet"): SocketTarget {
  const host = readlinkSync(path.join(dataFolder, "postgres.socket"));
  return { kind: "socket", host, port: socketPort, user, database: "emanet" };
}

/**
 * A service that is measured, in its own process. It prints `ready <url> <ca file> <data folder>`.
 *
 *   serve.ts <off|process|store> <settings as JSON> <database target as JSON>
 */

import { readConfig } from "../../packages/server/src/config.ts";
import type { Limiter } from "../../packages/server/src/kernel/limits/limiter.ts";
import { start } from "../../packages/server/src/start.ts";

const [variant, settings = "{}", database = "{}"] = process.argv.slice(2);

/** A limiter that allows everything and sends no headers. */
const none = (real: Limiter): Limiter => {
  const nothing = async () => ({ statuses: [], refused: null });
  return { ...real, spend: nothing, check: nothing, peek: nothing };
};

const running = await start({
  config: readConfig(JSON.parse(settings)),
  role: "all",
  database: JSON.parse(database),
  ...(variant === "off" && { limiter: none }),
});
process.stdout.write(`ready ${running.url} ${running.caFile}\n`);
process.on("SIGTERM", () => void running.stop().then(() => process.exit(0)));

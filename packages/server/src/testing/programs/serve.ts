/**
 * A whole service as a separate process, on a shared database, with the operations that only tests have. Prints `ready URL`.
 *
 *   serve.ts <settings as JSON> <database target as JSON> [<role>]
 */

import { readConfig } from "../../config.ts";
import { endpoints } from "../../endpoints.ts";
import type { Role } from "../../roles.ts";
import { start } from "../../start.ts";
import { limitedEndpoints } from "../limited.ts";

const [settings = "{}", database = "{}", role = "all"] = process.argv.slice(2);
const running = await start({
  config: readConfig(JSON.parse(settings)),
  role: role as Role,
  database: JSON.parse(database),
  endpoints: [...endpoints, ...limitedEndpoints],
  writeLog: (line) => process.stderr.write(line),
});
process.stdout.write(`ready ${running.url}\n`);

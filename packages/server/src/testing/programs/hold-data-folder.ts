/** Opens the data folder of its argument, says `open`, and holds it until its standard input ends. */

import { openDataFolder } from "../../kernel/data-folder.ts";
import { StartError } from "../../kernel/start-error.ts";
import { silentLog } from "../database.ts";

try {
  const folder = await openDataFolder({ folder: process.argv[2] ?? "", profile: "sandbox", log: silentLog });
  process.stdout.write("open\n");
  for await (const _ of process.stdin);
  await folder.close();
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  process.stdout.write(`${error.code} ${error.message}\n`);
}

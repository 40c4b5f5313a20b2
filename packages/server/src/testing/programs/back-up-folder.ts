/**
 * Backs up a folder through the upload protocol. A service that is away is asked again for two minutes. It prints `begun` when the
 * snapshot is made, `call <operation>` before each call, and at the end `answer 200 {"id": …}` or `failed <why>`.
 *
 *   back-up-folder.ts <terms as JSON>
 */

import { readFileSync } from "node:fs";
import { backUpFolder, type FolderTerms } from "../folder-backup.ts";

interface Terms extends Omit<FolderTerms, "place" | "auth" | "before"> {
  readonly url: string;
  readonly caFile: string;
  readonly headers: Readonly<Record<string, string>>;
}

const { url, caFile, headers, ...terms } = JSON.parse(process.argv[2] ?? "") as Terms;
const say = (line: string) => process.stdout.write(`${line}\n`);
const place = { url, ca: readFileSync(caFile, "utf8") };

say(
  await backUpFolder({ ...terms, place, auth: async () => headers }, say).then(
    (id) => `answer 200 ${JSON.stringify({ id })}`,
    (error: unknown) => `failed ${String(error).replaceAll("\n", " ")}`,
  ),
);

/** `status`: how this machine is signed in, whether the service answers, and how the last backups ended. */

import { connect } from "../api/connection.ts";
import { storedAgent } from "../api/registration.ts";
import { newerVersion } from "../api/release.ts";
import { explain } from "../explain.ts";
import { exitCodes } from "../failure.ts";
import { bytesText, numberText, timeText } from "../output/numbers.ts";
import { safeText } from "../output/safe-text.ts";
import { readResults } from "../state/source-results.ts";
import type { Command } from "./command.ts";
import { sayNewerVersion } from "./options.ts";

export const status: Command = async (run) => {
  const { environment, texts, version } = run;
  const { language } = environment;
  const connection = connect(run, "writing");
  const { signIn, folder } = connection;
  const answer = await connection.client.health
    .ready()
    .then(() => "ok")
    .catch((error: unknown) => explain(error, run).message);
  connection.close();
  const results = readResults(folder);
  run.data({
    type: "status",
    version,
    newest_version: newerVersion(run, folder),
    url: signIn.url,
    kind: signIn.identity.kind,
    agent_id: storedAgent(connection)?.id ?? null,
    service: answer,
    sources: results.map((each) => ({ ...each, at: new Date(each.at).toISOString() })),
  });
  run.say(`emanet ${version}  ${signIn.url}  ${answer}`);
  sayNewerVersion(run, folder);
  for (const each of results) {
    const amount = `${texts.files(numberText(each.files, language))}, ${bytesText(each.bytes, language)}`;
    const how = each.message === null ? each.result : `${each.result}: ${each.message}`;
    run.say(`${timeText(each.at, language)}  ${safeText(each.source)}  ${amount}  ${safeText(how)}`);
  }
  const isWell = answer === "ok" && results.every(({ result }) => result === "completed");
  return isWell ? exitCodes.done : exitCodes.incomplete;
};

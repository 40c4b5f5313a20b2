/**
 * The programs that the engine is compared with. restic and kopia are taken from the PATH, or built from the Go modules
 * beside this file, which name exact versions. rustic is taken from the PATH if it is there.
 *
 *   node tools/run.mjs bench/peers/peers.ts      builds what is missing and lists the programs
 */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findGoProgram } from "../../packages/storage/src/testing/go-program.ts";

const run = promisify(execFile);

export type PeerName = "restic" | "kopia" | "rustic";

export interface Peer {
  readonly name: PeerName;
  readonly program: string;
  /** The version line of the program. */
  readonly version: string;
}

export interface Peers {
  readonly found: readonly Peer[];
  /** Why the others are missing, one sentence each. */
  readonly missing: readonly string[];
}

/** The versions that the targets were set against. */
const built = [
  { name: "restic", version: "v0.19.1", mainPackage: "github.com/restic/restic/cmd/restic", ask: "version" },
  { name: "kopia", version: "v0.23.1", mainPackage: "github.com/kopia/kopia", ask: "--version" },
] as const;

/** Finds the programs and builds missing ones if it can. */
export async function findPeers(): Promise<Peers> {
  const found: Peer[] = [];
  const missing: string[] = [];
  for (const { name, version, mainPackage, ask } of built) {
    const moduleFolder = fileURLToPath(new URL(`./${name}`, import.meta.url));
    const program = await findGoProgram({ name, version, moduleFolder, mainPackage, versionArguments: [ask] });
    if (program === null) missing.push(`${name} is neither on the PATH nor can it be built: there is no Go`);
    else found.push({ name, program, version: await firstLine(program, ask) });
  }
  const rustic = await firstLine("rustic", "--version").catch(() => null);
  if (rustic === null) missing.push("rustic is not on the PATH; it is optional");
  else found.push({ name: "rustic", program: "rustic", version: rustic });
  return { found, missing };
}

async function firstLine(program: string, argument: string): Promise<string> {
  const { stdout } = await run(program, [argument]);
  return stdout.split("\n", 1)[0]?.trim() ?? "";
}

if (import.meta.main) {
  const { found, missing } = await findPeers();
  for (const { program, version } of found) console.log(`${version} (${program})`);
  for (const sentence of missing) console.log(sentence);
}

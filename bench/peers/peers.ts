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

/** restic's server, for the race through servers; null if it is neither on the PATH nor can be built. kopia is its own server. */
export function findRestServer(): Promise<string | null> {
  const mainPackage = "github.com/restic/rest-server/cmd/rest-server";
  return findBuilt({ name: "rest-server", version: "v0.14.0", mainPackage, ask: "--version" });
}

interface Built {
  readonly name: string;
  readonly version: string;
  readonly mainPackage: string;
  /** Prints the version. */
  readonly ask: string;
}

function findBuilt({ name, version, mainPackage, ask }: Built): Promise<string | null> {
  const moduleFolder = fileURLToPath(new URL(`./${name}`, import.meta.url));
  return findGoProgram({ name, version, moduleFolder, mainPackage, versionArguments: [ask] });
}

/** Finds the programs and builds missing ones if it can. */
export async function findPeers(): Promise<Peers> {
  const found: Peer[] = [];
  const missing: string[] = [];
  for (const each of built) {
    const { name, ask } = each;
    const program = await findBuilt(each);
    if (program === null) missing.push(`${name} is neither on the PATH nor can it be built: there is no Go`);
    else found.push({ name, program, version: await firstLine(program, ask) });
  }
  const rustic = await firstLine("rustic", "--version").catch(() => null);
  if (rustic === null) missing.push("rustic is not on the PATH; it is optional");
  else found.push({ name: "rustic", program: "rustic", version: rustic });
  return { found, missing };
}

export async function firstLine(program: string, argument: string): Promise<string> {
  const { stdout } = await run(program, [argument]);
  return stdout.split("\n", 1)[0]?.trim() ?? "";
}

if (import.meta.main) {
  const { found, missing } = await findPeers();
  for (const { program, version } of found) console.log(`${version} (${program})`);
  for (const sentence of missing) console.log(sentence);
  console.log(`rest-server: ${(await findRestServer()) ?? "neither on the PATH nor can it be built"}`);
}

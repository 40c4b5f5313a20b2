/** restic with its rest-server, and kopia with its own server: TLS, a repository and a server process each. */

import { X509Certificate } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { systemRandom } from "../../packages/server/src/kernel/clock.ts";
import { issueAuthority, issueLeaf } from "../../packages/server/src/kernel/transport/issue.ts";
import { measure } from "../engine/measure.ts";
import type { Repository, System } from "../engine/system.ts";
import {
  createKopia,
  kopiaCommands,
  kopiaMaintenance,
  kopiaRepository,
  password,
  removeKopiaContents,
  resticRepository,
} from "../engine/system-peers.ts";
import type { Peer } from "../peers/peers.ts";
import type { Lines } from "./lines.ts";
import { serverSide, startServer } from "./server-side.ts";

/** A certificate for 127.0.0.1 and the authority that signed it. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
  /** SHA-256 of the certificate, in hex. */
  readonly fingerprint: string;
}

export async function makeTlsFiles(folder: string): Promise<TlsFiles> {
  const authority = await issueAuthority(new Date(), systemRandom);
  const leaf = await issueLeaf(authority, ["127.0.0.1", "localhost"], new Date(), systemRandom);
  mkdirSync(folder, { recursive: true });
  const write = (name: string, text: string) => {
    const file = path.join(folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  };
  const fingerprint = new X509Certificate(leaf.cert).fingerprint256.replaceAll(":", "").toLowerCase();
  return {
    certFile: write("cert.pem", leaf.cert),
    keyFile: write("key.pem", leaf.key),
    caFile: write("ca.pem", authority.cert),
    fingerprint,
  };
}

export interface ServerSetup {
  readonly lines: Lines;
  readonly tls: TlsFiles;
}

/** `server` is the program of rest-server, `serverVersion` its version line. */
export function resticWithServer(
  { program, version }: Peer,
  server: string,
  serverVersion: string,
  { lines, tls }: ServerSetup,
): System {
  return {
    name: "restic",
    version: `${version}; ${serverVersion}`,
    settings:
      "rest-server over TLS without a password; compression auto, packs of 16 MiB, warm cache, --no-scan; upkeep is prune with its defaults",
    create: async (folder, delayMs) => {
      const args = ["--path", folder, "--listen", "127.0.0.1:0", "--no-auth", "--tls"];
      const files = ["--tls-cert", tls.certFile, "--tls-key", tls.keyFile];
      mkdirSync(folder, { recursive: true });
      const running = await startServer({ program: server, args: [...args, ...files] }, /127\.0\.0\.1:(\d+)/);
      const line = await lines.open(running.port);
      const location = `rest:https://127.0.0.1:${line.port}/ofis`;
      const repository = await resticRepository({ program, location, folder, flags: ["--cacert", tls.caFile] });
      return { ...repository, server: serverSide(running.pid, line, delayMs), close: () => running.close() };
    },
  };
}

const kopiaUser = "bench@office";

export function kopiaWithServer({ program, version }: Peer, { lines, tls }: ServerSetup): System {
  return {
    name: "kopia",
    version,
    settings:
      "kopia server over TLS; compression zstd-fastest (off by default), default splitter, warm cache, but without the contents of earlier restores before a full restore, no log files; upkeep is full maintenance without safety delays, beside the repository, then a refresh of the server",
    create: async (folder, delayMs): Promise<Repository> => {
      const beside = kopiaCommands(program, `${folder}.server`);
      await createKopia(beside, folder);
      await measure(beside("server", "user", "add", kopiaUser, "--user-password", password));
      const control = ["--server-control-username=control", `--server-control-password=${password}`];
      const files = ["--tls-cert-file", tls.certFile, "--tls-key-file", tls.keyFile];
      const command = beside("server", "start", "--address=127.0.0.1:0", "--no-ui", ...control, ...files);
      const running = await startServer(command, /SERVER ADDRESS: https:\/\/127\.0\.0\.1:(\d+)/);
      const line = await lines.open(running.port);
      const run = kopiaCommands(program, folder);
      const [username, hostname] = kopiaUser.split("@");
      const own = [`--override-username=${username}`, `--override-hostname=${hostname}`];
      const at = (port: number) => [`https://127.0.0.1:${port}`, `--server-cert-fingerprint=${tls.fingerprint}`];
      const [url = "", fingerprint = ""] = at(line.port);
      await measure(run("repository", "connect", "server", "--url", url, fingerprint, ...own));
      const [address = "", ...trust] = at(running.port);
      // Not through the line: it is the server's administrator who does this.
      const refresh = beside("server", "refresh", `--address=${address}`, ...trust, ...control);
      const repository = kopiaRepository(run, folder, [kopiaMaintenance(beside), refresh]);
      const server = serverSide(running.pid, line, delayMs);
      const forgetContents = () => removeKopiaContents(folder);
      return { ...repository, server, forgetContents, close: () => running.close() };
    },
  };
}

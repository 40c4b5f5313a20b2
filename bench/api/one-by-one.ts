/**
 * Small files that come one by one, sent by the client library: one request after the other, and 16 at a time. Then the snapshot is
 * completed, verified in the background, and read as an archive.
 */

import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { readFirstRun } from "../../packages/server/src/testing/people.ts";
import { clientCredentials, createClient, sendFiles } from "../../sdks/typescript/src/index.ts";
import { countsOf } from "../requests/processes.ts";
import { smallFile, smallPath } from "./content.ts";
import { type Cost, costOf } from "./measure.ts";
import { type MeasuredSetup, startSetup } from "./measured-setup.ts";
import type { Part } from "./part.ts";
import type { ScaleName } from "./scale.ts";
import { openTransfers } from "./transfers.ts";

/** A usual e-invoice without its style sheet. */
const fileBytes = 6_000;
const fileCounts: Readonly<Record<ScaleName, number>> = { XS: 100, S: 1_000, M: 10_000, L: 10_000 };

/** Requests at the same time. */
const ways = [1, 16] as const;

const columns = ["at a time", "files", "send s", "files/s", "CPU ms per file: service + PostgreSQL", "complete s"];
const moreColumns = ["round trips per file", "verify s", "archive s", "peak MiB"];

export const oneByOne: Part = {
  name: "one-by-one",
  async run({ cleanups, scale, seed, log }) {
    const files = fileCounts[scale];
    const setup = await startSetup({ cleanups });
    setDefaultCACertificates([...getCACertificates("default"), setup.ca]);
    const rows: string[][] = [];
    for (const atOnce of ways) {
      const sent = await send(setup, files, seed * 10 + atOnce, atOnce);
      const { cost: verified } = await costOf(setup.program, setup.postmaster, () => setup.untilVerified());
      const { cost: read } = await costOf(setup.program, setup.postmaster, () => readArchive(setup, sent.id, files));
      const seconds = sent.cost.seconds - sent.completeSeconds;
      const perFile = (cpu: number) => ((cpu * 1000) / files).toFixed(1);
      const { server, postgres } = sent.cost;
      const peak = Math.max(...[sent.cost, verified, read].map(({ peakMib }) => peakMib));
      log(`${atOnce} at a time: ${seconds.toFixed(1)} s, completed in ${sent.completeSeconds.toFixed(1)} s`);
      rows.push([
        ...[String(atOnce), String(files), seconds.toFixed(1), (files / seconds).toFixed(0)],
        ...[`${perFile(server)} + ${perFile(postgres)}`, sent.completeSeconds.toFixed(1)],
        (sent.roundTrips / files).toFixed(1),
        ...[verified.seconds.toFixed(1), read.seconds.toFixed(1), String(peak)],
      ]);
    }
    const all = [...columns, ...moreColumns];
    const lines = [all, all.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
    return [`## Files of ${fileBytes} bytes one by one`, "", ...lines, ""].join("\n");
  },
};

interface SentFiles {
  readonly id: string;
  readonly cost: Cost;
  readonly completeSeconds: number;
  /** To PostgreSQL. */
  readonly roundTrips: number;
}

async function send(setup: MeasuredSetup, files: number, seed: number, atOnce: number): Promise<SentFiles> {
  const { demo } = await readFirstRun(setup.dataFolder);
  const credentials = clientCredentials({ clientId: demo.client_id, clientSecret: demo.client_secret });
  const client = createClient({ baseUrl: setup.url, credentials });
  let completeSeconds = 0;
  const complete: typeof client.snapshots.complete = Object.assign(
    async (...call: Parameters<typeof client.snapshots.complete>) => {
      const began = performance.now();
      const made = await client.snapshots.complete(...call);
      completeSeconds += (performance.now() - began) / 1000;
      return made;
    },
    client.snapshots.complete,
  );
  function* all() {
    for (let index = 0; index < files; index++)
      yield { path: smallPath(index), body: Uint8Array.from(smallFile(seed, index, fileBytes)), mtime: new Date(0) };
  }
  const snapshots = { ...client.snapshots, complete };
  const before = await countsOf(setup.program);
  const { result, cost } = await costOf(setup.program, setup.postmaster, () =>
    sendFiles({ snapshots }, { source: `files-${atOnce}` }, all(), { atOnce }),
  );
  const { roundTrips } = await countsOf(setup.program);
  return { id: result.id, cost, completeSeconds, roundTrips: roundTrips - before.roundTrips };
}

async function readArchive(setup: MeasuredSetup, id: string, files: number): Promise<void> {
  const client = await openTransfers("http/1.1", setup.url, setup.ca);
  const headers = await setup.authorization();
  const { status, bytes } = await client.send({ method: "GET", path: `/v1/snapshots/${id}/archive`, headers });
  client.close();
  if (status !== 200 || bytes < files * fileBytes) throw new Error(`the archive answered ${status}, ${bytes} bytes`);
}

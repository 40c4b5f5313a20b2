/** Memory of the service while many uploads run at the same time: the same bytes by few clients and by 200. */

import { rm } from "node:fs/promises";
import path from "node:path";
import { writeTar } from "./content.ts";
import { costOf } from "./measure.ts";
import { startSetup } from "./measured-setup.ts";
import type { Part } from "./part.ts";
import type { ScaleName } from "./scale.ts";
import { openTransfers } from "./transfers.ts";

/** Uploads in all: as many as the contract has at the same time. */
const uploads = 200;
const clientCounts = [2, 20, 200] as const;
const fileBytes = 10_000;
const filesPerUpload: Readonly<Record<ScaleName, number>> = { XS: 10, S: 100, M: 500, L: 1_000 };

export const parallelUploads: Part = {
  name: "parallel-uploads",
  async run({ cleanups, scale, seed, log }) {
    const rows: string[] = [];
    for (const clients of clientCounts) {
      const setup = await startSetup({ cleanups });
      const files = filesPerUpload[scale];
      const bodies = Array.from({ length: uploads }, (_, number) => {
        const file = path.join(setup.folder, `upload-${number}`);
        return { path: file, bytes: writeTar(file, seed * uploads + number, { files, fileBytes }) };
      });
      const bytes = bodies.reduce((sum, body) => sum + body.bytes, 0);
      const headers = { ...(await setup.authorization()), "content-type": "application/x-tar" };
      const next = bodies.entries();
      const client = async () => {
        const transfers = await openTransfers("http/1.1", setup.url, setup.ca);
        for (const [number, file] of next) {
          const target = `/v1/snapshots?source=s${number}`;
          const answer = await transfers.send({ method: "POST", path: target, headers, file });
          if (answer.status !== 201) throw new Error(`upload ${number} answered ${answer.status}: ${answer.text}`);
        }
        transfers.close();
      };
      const { cost } = await costOf(setup.program, setup.postmaster, () =>
        Promise.all(Array.from({ length: clients }, client)),
      );
      log(`${clients} clients: ${cost.seconds.toFixed(1)} s, peak ${cost.peakMib} MiB`);
      const speed = (bytes / 1e6 / cost.seconds).toFixed(1);
      rows.push(
        `| ${clients} | ${uploads} × ${files} files | ${speed} | ${cost.seconds.toFixed(1)} | ${cost.peakMib} |`,
      );
      for (const body of bodies) await rm(body.path);
    }
    return [
      ...["## Uploads at the same time", "", "| clients | uploads | MB/s | seconds | peak MiB of the service |"],
      ...["|---|---|---|---|---|", ...rows, ""],
    ].join("\n");
  },
};

/** Metrics of uploads and downloads: counted where they end, and gauges that are read when they are asked for. */

import { Counter, Gauge, type Registry } from "prom-client";
import type { Spool } from "../archives/index.ts";
import type { PackMemory } from "./pack-memory.ts";
import type { Places } from "./places.ts";

export interface TransferCounts {
  /** An upload in one call ended: `completed`, or the code of its failure. */
  uploadEnded(outcome: string): void;
  received(bytes: number): void;
  stored(bytes: number): void;
  sent(bytes: number): void;
  /** A completed snapshot was read back. */
  verified(isRight: boolean): void;
  /** Packs of so many bytes were deleted, because nothing needs them any more. */
  pruned(bytes: number): void;
}

interface Watched {
  readonly spool: Spool;
  readonly packMemory: PackMemory;
  readonly backups: Places;
  readonly reads: Places;
}

export function transferMetrics({ registry }: { readonly registry: Registry }, watched: Watched): TransferCounts {
  const registers = [registry];
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      ...{ name, help, registers },
      collect() {
        this.set(read());
      },
    });
  const ended = new Counter({
    name: "emanet_uploads_total",
    help: "Uploads in one call, by how they ended",
    labelNames: ["outcome"] as const,
    registers,
  });
  const received = counter("emanet_upload_received_bytes_total", "Bytes received of uploads, as they were sent");
  const stored = counter(
    "emanet_upload_stored_bytes_total",
    "Bytes that completed uploads in one call added to storage",
  );
  const sent = counter("emanet_content_sent_bytes_total", "Bytes of files and archives sent to clients");
  const verified = new Counter({
    name: "emanet_verifications_total",
    help: "Completed snapshots that were read back, and whether their content was right",
    labelNames: ["outcome"] as const,
    registers,
  });
  // A counter that is 0 can be watched for its first change.
  verified.inc({ outcome: "wrong" }, 0);
  const pruned = counter("emanet_pruned_bytes_total", "Bytes of packs that were deleted, because nothing needs them");
  gauge("emanet_spool_bytes", "Bytes in the spool of this process", () => watched.spool.usedBytes);
  gauge("emanet_pack_memory_bytes", "Bytes of memory for packs that arrive", () => watched.packMemory.takenBytes);
  gauge("emanet_backups_running", "Uploads that are being cut and stored", () => watched.backups.taken);
  gauge("emanet_backups_waiting", "Received uploads that wait to be cut", () => watched.backups.waiting);
  gauge("emanet_reads_running", "Large downloads that are being read", () => watched.reads.taken);
  return {
    uploadEnded: (outcome) => ended.inc({ outcome }),
    received: (bytes) => received.inc(bytes),
    stored: (bytes) => stored.inc(bytes),
    sent: (bytes) => sent.inc(bytes),
    verified: (isRight) => verified.inc({ outcome: isRight ? "right" : "wrong" }),
    pruned: (bytes) => pruned.inc(bytes),
  };
}

/** Metrics of upkeep (`ctx.services.upkeep`): each step of a vault is counted where it ends. */

import { Counter, type Registry } from "prom-client";

export interface UpkeepCounts {
  /** A step of one vault has ended. */
  ran(step: "scrub" | "heal" | "repack", outcome: "done" | "failed"): void;
  scrubbed(bytes: number, findings: number): void;
  healed(frames: number): void;
}

declare module "../kernel/domain-services.ts" {
  interface Services {
    readonly upkeep: UpkeepCounts;
  }
}

export function openUpkeep({
  metrics: { registry },
}: {
  readonly metrics: { readonly registry: Registry };
}): UpkeepCounts {
  const registers = [registry];
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  const runs = new Counter({
    name: "emanet_upkeep_runs_total",
    help: "Steps of upkeep, one of a vault each, by how they ended",
    labelNames: ["step", "outcome"] as const,
    registers,
  });
  for (const step of ["scrub", "heal", "repack"]) runs.inc({ step, outcome: "failed" }, 0);
  const bytes = counter("emanet_scrubbed_bytes_total", "Bytes of packs that a scrub has read and compared");
  const findings = counter("emanet_scrub_findings_total", "Packs, manifests and records that a scrub found damaged");
  const healed = counter("emanet_healed_frames_total", "Damaged frames that were made whole again");
  return {
    ran: (step, outcome) => runs.inc({ step, outcome }),
    scrubbed: (count, found) => {
      bytes.inc(count);
      findings.inc(found);
    },
    healed: (frames) => healed.inc(frames),
  };
}

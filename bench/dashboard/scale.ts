/** How much the office has. */

export interface Scale {
  readonly taxpayers: number;
  /** A snapshot per taxpayer and night. */
  readonly nights: number;
  /** Of one folder of one snapshot. */
  readonly files: number;
  readonly auditRecords: number;
  /** The part of each list that is scrolled. A quarter of the files and of the records (750 at XS) is still several pages. */
  readonly scrolled: number;
  /** How often the whole way through the screens is measured. */
  readonly rounds: number;
}

/** M is the office of the design: 300 × 90 nights are 27 000 snapshots. */
export const scales = {
  XS: { taxpayers: 12, nights: 40, files: 3_000, auditRecords: 3_000, scrolled: 0.25, rounds: 1 },
  S: { taxpayers: 60, nights: 90, files: 10_000, auditRecords: 50_000, scrolled: 1, rounds: 2 },
  M: { taxpayers: 300, nights: 90, files: 100_000, auditRecords: 1_000_000, scrolled: 1, rounds: 5 },
} as const satisfies Readonly<Record<string, Scale>>;

export type ScaleName = keyof typeof scales;

/** How much is sent. */

export interface Scale {
  /** Of the archive of small files. */
  readonly files: number;
  readonly fileBytes: number;
  readonly largeBytes: number;
  /** Requests of the cases that count requests. */
  readonly requests: number;
  readonly ranges: number;
  readonly rounds: number;
}

export const scales = {
  XS: { files: 200, fileBytes: 10_000, largeBytes: 32e6, requests: 200, ranges: 50, rounds: 1 },
  S: { files: 2_000, fileBytes: 10_000, largeBytes: 256e6, requests: 1_000, ranges: 200, rounds: 3 },
  M: { files: 10_000, fileBytes: 10_000, largeBytes: 2e9, requests: 2_000, ranges: 500, rounds: 3 },
  L: { files: 100_000, fileBytes: 50_000, largeBytes: 5e9, requests: 2_000, ranges: 500, rounds: 1 },
} as const satisfies Readonly<Record<string, Scale>>;

export type ScaleName = keyof typeof scales;

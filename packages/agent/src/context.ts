/** What every command gets: the environment, clock, random bytes, words and output. Only main.ts makes a real one. */

import type { Readable } from "node:stream";
import type { Environment } from "./config.ts";
import type { TextTable } from "./output/texts.ts";

export interface AgentContext {
  readonly environment: Environment;
  readonly texts: TextTable;
  readonly version: string;
  readonly now: () => number;
  readonly random: (length: number) => Uint8Array;
  /** A new key for requests that are done once. */
  readonly newKey: () => string;
  readonly wait: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Standard output as bytes. Resolves when the reader has taken them; rejects with EPIPE when it has gone. */
  readonly outBytes: (bytes: Uint8Array) => Promise<void>;
  readonly stdin: Readable;
  /** Free bytes of the disk that holds the folder. */
  readonly freeBytes: (folder: string) => number;
  /** How this program is started: for schedules. */
  readonly program: readonly string[];
  /** Runs a program of the system and returns its exit code and output. */
  readonly execute: (command: readonly string[], input?: string) => { readonly code: number; readonly output: string };
  /** Standard error is a terminal of so many columns; null if it is none. */
  readonly terminalColumns: () => number | null;
  /** Aborted by the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
}

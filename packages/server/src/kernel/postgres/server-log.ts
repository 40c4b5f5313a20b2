/**
 * What the embedded server says, kept in `<data>/postgres.log` and, when that is full, `postgres.log.1`. Its settings
 * keep personal data out of it (settings.ts); the service's own log gets no text of it all the same, only the SQLSTATE
 * of failures.
 */

import { closeSync, fstatSync, openSync, renameSync, writeSync } from "node:fs";
import { errorFields, type Log } from "../log.ts";

/** Two files of this size; months of ordinary messages. */
const fileBytesMax = 5 * 1024 * 1024;

/** As much as a start error quotes: the last dozens of lines. */
const tailCharactersMax = 4_000;

/** A line longer than this is cut: the rest of it is the middle of something. */
const lineCharactersMax = 16_384;

/** The server ending or still starting; its own business, and every stop has some. */
const ordinaryStates = new Set(["57P01", "57P02", "57P03"]);

export interface ServerLog {
  /** Takes output as it comes. */
  write(chunk: Buffer): void;
  /** The end of what was said since the start. */
  tail(): string;
  close(): void;
}

export function openServerLog(file: string, log: Log): ServerLog {
  let descriptor = openSync(file, "a", 0o600);
  let size = fstatSync(descriptor).size;
  let tail = "";
  let line = "";

  function keep(chunk: Buffer): void {
    try {
      if (size + chunk.length > fileBytesMax) {
        closeSync(descriptor);
        renameSync(file, `${file}.1`);
        descriptor = openSync(file, "a", 0o600);
        size = 0;
      }
      writeSync(descriptor, chunk);
      size += chunk.length;
    } catch (error) {
      // A full disk must not take the service down; the messages are still read below.
      log.warn("postgres_log_not_written", errorFields(error));
    }
  }

  return {
    write(chunk) {
      keep(chunk);
      const text = chunk.toString("utf8");
      tail = (tail + text).slice(-tailCharactersMax);
      const lines = (line + text).split("\n");
      line = (lines.pop() ?? "").slice(0, lineCharactersMax);
      for (const whole of lines) reportFailure(whole, log);
    },
    tail: () => tail.trim(),
    close: () => closeSync(descriptor),
  };
}

function reportFailure(line: string, log: Log): void {
  const state = /^\S+ \S+ \S+ \[\d+\] ([0-9A-Z]{5}) (?:FATAL|PANIC): /.exec(line)?.[1];
  if (state !== undefined && !ordinaryStates.has(state)) log.error("postgres_failure", { error_system_code: state });
}

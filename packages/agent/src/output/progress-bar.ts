/**
 * The progress of a long command. On a terminal one line on standard error that is drawn again: share, bytes, files, speed,
 * remaining time, new bytes. With --json, lines with `"type":"progress"`. Otherwise nothing: cron mails whatever is printed.
 */

import type { Language } from "../config.ts";
import { bytesText, durationText, numberText } from "./numbers.ts";
import type { TextTable } from "./texts.ts";

export interface Amount {
  readonly files: number;
  readonly bytes: number;
  /** Bytes that are new to the service; null where that says nothing. */
  readonly newBytes: number | null;
}

/** What is expected in all. It may change while the command runs. */
export interface Total {
  readonly files: number;
  readonly bytes: number;
}

export interface ProgressOutput {
  readonly kind: "terminal" | "json" | "none";
  readonly columns: () => number;
  readonly write: (text: string) => void;
}

/** Often enough to look alive, seldom enough to cost nothing. */
const terminalEveryMs = 100;
const jsonEveryMs = 1000;

const barWidth = 20;

/** The speed is that of the last seconds: a walk over unchanged files is a hundred times as fast as an upload. */
const speedWindowMs = 5000;

export class ProgressBar {
  readonly #output: ProgressOutput;
  readonly #now: () => number;
  readonly #language: Language;
  readonly #texts: TextTable;
  readonly #startedAt: number;
  #total: Total | null = null;
  #drawnAt = 0;
  #isDrawn = false;
  #samples: { readonly at: number; readonly bytes: number }[] = [];

  constructor(output: ProgressOutput, options: { now: () => number; language: Language; texts: TextTable }) {
    this.#output = output;
    this.#now = options.now;
    this.#language = options.language;
    this.#texts = options.texts;
    this.#startedAt = options.now();
  }

  /** Whether anybody sees the progress: then it is worth finding out the total. */
  get isShown(): boolean {
    return this.#output.kind !== "none";
  }

  setTotal(total: Total): void {
    this.#total = total;
    // The next report draws the bar: a short command has few reports.
    this.#drawnAt = 0;
  }

  report(amount: Amount): void {
    const { kind } = this.#output;
    if (kind === "none") return;
    const now = this.#now();
    if (now - this.#drawnAt < (kind === "json" ? jsonEveryMs : terminalEveryMs)) return;
    this.#drawnAt = now;
    if (kind === "json") this.#output.write(`${JSON.stringify(this.#data(amount, now))}\n`);
    else this.#draw(this.#line(amount, now));
  }

  /** Removes the line, so that the summary takes its place. */
  end(): void {
    if (this.#isDrawn) this.#output.write("\r\u001b[K");
    this.#isDrawn = false;
  }

  #draw(line: string): void {
    // A line that wraps could not be drawn again in its place.
    this.#output.write(`\r\u001b[K${line.slice(0, Math.max(0, this.#output.columns() - 1))}`);
    this.#isDrawn = true;
  }

  #data({ files, bytes, newBytes }: Amount, now: number) {
    return {
      type: "progress",
      seconds: Math.round((now - this.#startedAt) / 100) / 10,
      files,
      bytes,
      ...(newBytes !== null && { new_bytes: newBytes }),
      ...(this.#total !== null && { total_files: this.#total.files, total_bytes: this.#total.bytes }),
    };
  }

  #line({ files, bytes, newBytes }: Amount, now: number): string {
    const speed = this.#speed(bytes, now);
    const language = this.#language;
    const total = this.#total;
    const parts = [
      total === null || total.bytes === 0 ? "" : `${bar(bytes / total.bytes)} ${percent(bytes / total.bytes)}`,
      `${bytesText(bytes, language)}${total === null ? "" : ` / ${bytesText(total.bytes, language)}`}`,
      this.#texts.files(numberText(files, language)),
      `${bytesText(speed, language)}/s`,
      total === null || speed === 0 || bytes >= total.bytes
        ? ""
        : this.#texts.remaining(durationText(((total.bytes - bytes) / speed) * 1000, language)),
      newBytes === null ? "" : this.#texts.newBytes(bytesText(newBytes, language)),
    ];
    return parts.filter((part) => part !== "").join("  ");
  }

  #speed(bytes: number, now: number): number {
    this.#samples.push({ at: now, bytes });
    while (this.#samples.length > 2 && now - (this.#samples[0]?.at ?? now) > speedWindowMs) this.#samples.shift();
    const first = this.#samples[0];
    if (first === undefined || first.at === now) return 0;
    return ((bytes - first.bytes) / (now - first.at)) * 1000;
  }
}

function bar(share: number): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * barWidth);
  return `[${"#".repeat(full)}${".".repeat(barWidth - full)}]`;
}

function percent(share: number): string {
  return `${Math.min(100, Math.floor(share * 100))} %`.padStart(5);
}

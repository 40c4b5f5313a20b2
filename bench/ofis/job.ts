/** A job makes or changes one file. It is plain data: a worker needs only the job and the seed. */

import { createHash } from "node:crypto";
import { closeSync, futimesSync, mkdirSync, openSync, readSync, rmSync, symlinkSync, writeSync } from "node:fs";
import path from "node:path";
import { changeDatabase, type Database, type Night, writeDatabase } from "./content/database.ts";
import type { Sized } from "./content/documents.ts";
import * as documents from "./content/documents.ts";
import { type Invoice, writeInvoice } from "./content/invoice.ts";
import { type Ledger, writeLedger } from "./content/ledger.ts";
import { FileWriter } from "./file-writer.ts";
import type { PartName } from "./scale.ts";

export type Task =
  | { readonly kind: "database"; readonly database: Database }
  | { readonly kind: "night"; readonly from: string; readonly database: Database; readonly night: Night }
  | { readonly kind: "invoice"; readonly invoice: Invoice }
  | { readonly kind: "ledger"; readonly ledger: Ledger }
  | ({ readonly kind: "pdf" | "scan" | "table" | "mailbox" | "mail" } & Sized)
  | ({ readonly kind: "workbook"; readonly edit: number } & Sized)
  | ({ readonly kind: "archive"; readonly oldNames: boolean; readonly files: number } & Sized)
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "zeros"; readonly bytes: number }
  | { readonly kind: "link"; readonly target: string };

export interface Job {
  readonly part: PartName;
  /** Below the tree, with `/`. */
  readonly path: string;
  readonly task: Task;
  /** Whole seconds. */
  readonly mtime: number;
  readonly mode: number;
  /** About how many bytes it makes, for batches and progress. */
  readonly weight: number;
}

/** The file that a job made or changed. */
export interface MadeFile {
  readonly part: PartName;
  readonly path: string;
  readonly size: number;
  /** Of the content; of a link, of its target. */
  readonly sha256: string;
  readonly mtime: number;
  readonly mode: number;
  readonly link: boolean;
  /** Bytes that yesterday's file of this name (for a dump: yesterday's dump) did not have. */
  readonly changed: number;
  /** Of these, bytes that no compressor makes smaller. */
  readonly dense: number;
}

/** Read at a time when a file that grew is hashed. */
const readBytes = 1024 * 1024;

/** Runs a job below the folder `root`. */
export function runJob(root: string, seed: number, job: Job): MadeFile {
  const { task } = job;
  const file = path.join(root, job.path);
  const known = { part: job.part, path: job.path, mtime: job.mtime, mode: job.mode, link: false };
  switch (task.kind) {
    case "night": {
      const changed = changeDatabase(path.join(root, task.from), file, seed, task.database, task.night, job.mtime);
      return { ...known, ...changed, dense: 0 };
    }
    case "mail":
      return { ...known, ...appendMail(file, seed, task, job.mtime), dense: 0 };
    case "link": {
      mkdirSync(path.dirname(file), { recursive: true });
      symlinkSync(task.target, file);
      const sha256 = createHash("sha256").update(task.target).digest("hex");
      return { ...known, link: true, mode: 0o777, size: 0, sha256, changed: 0, dense: 0 };
    }
    default: {
      // Programs save a file by replacing it with a new one.
      rmSync(file, { force: true });
      const out = new FileWriter(file);
      writeContent(out, seed, task);
      const sha256 = out.finish(job.mtime, job.mode);
      return { ...known, size: out.size, sha256, changed: out.size, dense: out.dense };
    }
  }
}

function writeContent(out: FileWriter, seed: number, task: Exclude<Task, { kind: "night" | "mail" | "link" }>): void {
  switch (task.kind) {
    case "database":
      writeDatabase(out, seed, task.database);
      break;
    case "invoice":
      writeInvoice(out, seed, task.invoice);
      break;
    case "ledger":
      writeLedger(out, seed, task.ledger);
      break;
    case "pdf":
      documents.writePdf(out, seed, task);
      break;
    case "scan":
      documents.writeScan(out, seed, task);
      break;
    case "table":
      documents.writeTable(out, seed, task);
      break;
    case "workbook":
      documents.writeWorkbook(out, seed, task);
      break;
    case "archive":
      documents.writeArchive(out, seed, task);
      break;
    case "mailbox":
      for (const message of documents.mailMessages(seed, task)) out.write(message);
      break;
    case "text":
      out.text(task.text);
      break;
    case "zeros":
      out.write(Buffer.alloc(task.bytes));
      break;
  }
}

/** Adds a day's messages to a mailbox. */
function appendMail(
  file: string,
  seed: number,
  sized: Sized,
  mtime: number,
): Pick<MadeFile, "size" | "sha256" | "changed"> {
  const hash = createHash("sha256");
  const fd = openSync(file, "r+");
  try {
    const buffer = Buffer.allocUnsafe(readBytes);
    let size = 0;
    for (let count = -1; count !== 0; size += count) {
      count = readSync(fd, buffer, 0, readBytes, size);
      hash.update(buffer.subarray(0, count));
    }
    const before = size;
    for (const message of documents.mailMessages(seed, sized)) {
      writeSync(fd, message, 0, message.length, size);
      hash.update(message);
      size += message.length;
    }
    futimesSync(fd, mtime, mtime);
    return { size, sha256: hash.digest("hex"), changed: size - before };
  } finally {
    closeSync(fd);
  }
}

/**
 * The data folder: everything that a service keeps on its machine. Its nouns:
 *
 * - the *lock*, `emanet.lock`: held by the one process that may use the folder. It is a write lock on an SQLite file,
 *   which the operating system frees when its holder dies, however it dies. The file also names the holder's process,
 *   for the message that a second service shows. Deleting it while no service runs does no harm.
 * - the *label*, `folder.json`: the format of the folder and the profile it was made for. Written once.
 *
 * Invariants: one process at a time; a folder opens under one profile only; a folder of a newer format is refused
 * before anything but the lock changes; a folder that was not ours is never taken over; only its owner may look inside.
 *
 * The lock needs a file system with POSIX locks that reach every machine which mounts it. Local disks have them, NFS 4
 * too; on NFS 3 without a lock daemon, or on shares that emulate locks per machine, two machines could both open a
 * folder. PostgreSQL must not be run on such a file system either.
 */

import { chmod, mkdir, open, readdir, readFile, rename, stat } from "node:fs/promises";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Profile } from "../config.ts";
import type { Log } from "./log.ts";
import { StartError } from "./start-error.ts";

/** Raised when an older release could no longer read the folder. */
const folderFormat = 1;

const lockFile = "emanet.lock";
const labelFile = "folder.json";

/** What may lie in a folder that has no label yet: our own traces, and what a fresh disk brings along. */
const harmlessNames = /^(emanet\.lock(-journal)?|folder\.json\.new|lost\+found|\.DS_Store|\.gitkeep)$/;

/** Writing the holder's name waits this long for a refused service that is reading it at that moment. */
const readersPatienceMs = 5_000;

export interface DataFolder {
  /** The absolute path of the folder. */
  readonly root: string;
  /** A path inside the folder. */
  path(...names: readonly string[]): string;
  /** Gives the lock back; the folder may then be opened again. */
  close(): Promise<void>;
}

export interface DataFolderOptions {
  readonly folder: string;
  readonly profile: Profile;
  readonly log: Log;
}

/** Makes the folder if needed, locks it for this process and checks its label. Throws a {@link StartError}. */
export async function openDataFolder(options: DataFolderOptions): Promise<DataFolder> {
  const root = path.resolve(options.folder);
  await makeFolder(root);
  await refuseForeignFolder(root);
  const lock = takeLock(root);
  try {
    await checkLabel(root, options.profile);
    await keepPrivate(root);
  } catch (error) {
    lock.close();
    throw error;
  }
  options.log.info("data_folder_opened", { profile: options.profile });
  return {
    root,
    path: (...names) => path.join(root, ...names),
    close: async () => {
      if (lock.isOpen) lock.close();
    },
  };
}

async function makeFolder(root: string): Promise<void> {
  try {
    await mkdir(root, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw unusable(root, `cannot be made (${codeOf(error)})`, error);
  }
}

/** The setting can name a home folder by mistake. Nothing there may be changed, not even its mode. */
async function refuseForeignFolder(root: string): Promise<void> {
  const names = await readdir(root).catch((error: unknown) => {
    throw unusable(root, `cannot be read (${codeOf(error)})`, error);
  });
  if (names.includes(labelFile) || names.every((name) => harmlessNames.test(name))) return;
  throw new StartError(
    "folder_unusable",
    `The folder ${root} is not empty and has no ${labelFile}, so it is no data folder of Emanet. ` +
      "Set EMANET_DATA_DIR to an empty folder or to one that Emanet made.",
  );
}

/**
 * SQLite keeps its locks per process correctly even where several threads open the same file. Other code must not open the
 * lock file by other means in this process: closing that descriptor would drop the lock (a rule of POSIX locks).
 */
function takeLock(root: string): DatabaseSync {
  const database = openLockFile(root);
  try {
    // A write lock lets others read, so a refused service can say who holds the folder. The name has to be committed
    // to be read, so the lock is taken twice; a process that takes it in between wins, and this process is refused.
    database.exec("begin immediate; create table if not exists holder (pid integer not null)");
    database.exec(`pragma busy_timeout = ${readersPatienceMs}`);
    database.exec(`delete from holder; insert into holder values (${process.pid}); commit`);
    database.exec("pragma busy_timeout = 0");
    database.exec("begin immediate");
    return database;
  } catch (error) {
    const refusal = lockRefusal(root, database, error);
    database.close();
    throw refusal;
  }
}

function openLockFile(root: string): DatabaseSync {
  try {
    return new DatabaseSync(path.join(root, lockFile), { timeout: 0 });
  } catch (error) {
    throw unusable(root, `cannot be written (${messageOf(error)})`, error);
  }
}

function lockRefusal(root: string, database: DatabaseSync, error: unknown): StartError {
  if (!isBusy(error)) return unusable(root, `cannot be locked (${messageOf(error)})`, error);
  const holder = holderOf(database);
  return new StartError(
    "folder_in_use",
    `The data folder ${root} is in use by another service${holder === null ? "" : ` (process ${holder})`}. ` +
      "Stop that one first, or set EMANET_DATA_DIR to another folder.",
    { cause: error },
  );
}

/** Null when the holder has not written its name yet; the refusal does not depend on it. */
function holderOf(database: DatabaseSync): number | null {
  try {
    const pid = database.prepare("select pid from holder").get()?.pid;
    return typeof pid === "number" ? pid : null;
  } catch {
    return null;
  }
}

async function keepPrivate(root: string): Promise<void> {
  const { mode } = await stat(root);
  if ((mode & 0o077) === 0) return;
  try {
    await chmod(root, 0o700);
  } catch (error) {
    throw unusable(root, "is open to other users and cannot be closed to them", error);
  }
}

interface Label {
  readonly format: number;
  readonly profile: string;
}

async function checkLabel(root: string, profile: Profile): Promise<void> {
  const label = await readLabel(root);
  if (label === null) return writeLabel(root, { format: folderFormat, profile });
  if (label.format > folderFormat) {
    throw new StartError(
      "folder_newer",
      `The data folder ${root} was made by a newer release (format ${label.format}, this one knows ${folderFormat}). ` +
        "Start that release, or set EMANET_DATA_DIR to another folder.",
    );
  }
  if (label.profile !== profile) {
    throw new StartError(
      "folder_other_profile",
      `The data folder ${root} belongs to profile ${label.profile} and does not open under ${profile}. ` +
        `Set EMANET_PROFILE=${label.profile}, or EMANET_DATA_DIR to another folder.`,
    );
  }
}

async function readLabel(root: string): Promise<Label | null> {
  const text = await readFile(path.join(root, labelFile), "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return null;
    throw unusable(root, `has a ${labelFile} that cannot be read (${codeOf(error)})`, error);
  });
  if (text === null) return null;
  try {
    const { format, profile } = JSON.parse(text) as Partial<Label>;
    if (Number.isSafeInteger(format) && typeof profile === "string") return { format: Number(format), profile };
  } catch (error) {
    throw unusable(root, `has a damaged ${labelFile}`, error);
  }
  throw unusable(root, `has a damaged ${labelFile}`);
}

/** Durable before anything else is put into the folder: a label that a power cut takes away would lock its owner out. */
async function writeLabel(root: string, label: Label): Promise<void> {
  const file = path.join(root, labelFile);
  const handle = await open(`${file}.new`, "w", 0o600);
  try {
    await handle.writeFile(`${JSON.stringify(label)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${file}.new`, file);
  const folder = await open(root);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** SQLITE_BUSY in all its variants: SQLite puts those into the higher bits of its code. */
function isBusy(error: unknown): boolean {
  return (
    error instanceof Error && "errcode" in error && typeof error.errcode === "number" && (error.errcode & 0xff) === 5
  );
}

function unusable(root: string, what: string, cause?: unknown): StartError {
  return new StartError(
    "folder_unusable",
    `The data folder ${root} ${what}. Give the user of the service full access to it, or set EMANET_DATA_DIR to another folder.`,
    { cause },
  );
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : messageOf(error);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

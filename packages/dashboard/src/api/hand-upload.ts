/**
 * Sends files that a person chose in the browser as a snapshot, file by file. One upload at a time; it goes on while other screens are
 * open.
 *
 * States: *sending* ⇄ *waiting* (the connection was lost or the service is too busy; it goes on by itself) → *completing* →
 * *completed*. From the first three also *paused* (an error that waiting does not cure, until the person goes on) and *canceled*.
 * What was answered is stored: a file that broke off goes on from the offset that the service has, and nothing is sent twice.
 *
 * A page that is loaded again has lost the files: browsers give them only to the page in which they were chosen. The id of the snapshot and a hash of
 * what was chosen stay, without any name; when the same files are chosen again, the upload goes on.
 */

import { ConnectionError, isProblem, type NewSnapshot } from "@emanet/client/source";
import { observable } from "../observable.ts";
import { remember, remembered } from "../platform.ts";
import { client, queries } from "./client.ts";
import { perform } from "./step-up.ts";

export interface ChosenFile {
  /** In the snapshot: folders with `/` between them. */
  readonly path: string;
  readonly file: File;
}

export interface HandUpload {
  readonly snapshotId: string;
  readonly status: "sending" | "waiting" | "paused" | "completing" | "completed" | "canceled";
  readonly files: number;
  readonly filesSent: number;
  readonly bytes: number;
  readonly bytesSent: number;
  readonly error: unknown;
}

export const handUpload = observable<HandUpload | null>(null);

export const isUnderway = (upload: HandUpload | null): boolean =>
  upload !== null && upload.status !== "completed" && upload.status !== "canceled";

/** Files larger than this are sent in parts of it: so much is lost at most when a connection breaks, and progress is seen. */
const partBytes = 4 * 1024 * 1024;

/** Files at the same time: enough to hide the delay of a line, few enough for an office's upload. */
const atOnce = 4;

/** Waits after the first failure; each time twice as long. */
const firstWaitMs = 1_000;
/** A person who looks should see that it goes on. */
const maxWaitMs = 30_000;
/** Failures in a row without a byte in between; then the person decides. */
const maxFailures = 8;

interface Job {
  readonly id: string;
  readonly left: ChosenFile[];
  /** Bytes that the service has, by path. */
  readonly sent: Map<string, number>;
  /** Files that were begun in parts. */
  readonly begun: Set<string>;
  stop: AbortController;
}

let job: Job | null = null;

/** An upload that an earlier page began. */
export interface LeftUpload {
  readonly id: string;
  /** Of paths, sizes and times of all files. */
  readonly chosen: string;
  readonly files: number;
  readonly bytes: number;
}

/** The upload that this browser has begun and not ended; null where there is none. */
export function leftUpload(): LeftUpload | null {
  const text = remembered("upload");
  return text === null || job !== null ? null : (JSON.parse(text) as LeftUpload);
}

/** The service has ended it, or the person does not want it any more. */
export function forgetLeftUpload(): void {
  remember("upload", null);
}

async function hashOf(files: readonly ChosenFile[]): Promise<string> {
  const lines = files.map(({ path, file }) => `${path}\0${file.size}\0${file.lastModified}`).sort();
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(lines.join("\n")));
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function change(part: Partial<HandUpload>): void {
  const now = handUpload.get();
  if (now !== null) handUpload.set({ ...now, ...part });
}

/** Creates the snapshot, or goes on with the one that an earlier page began with the same files; resolves when sending has begun. */
export async function startUpload(wishes: NewSnapshot, files: readonly ChosenFile[]): Promise<void> {
  const chosen = await hashOf(files);
  const left = leftUpload();
  const isLeft = left !== null && left.chosen === chosen && (await isOpen(left.id));
  const id = isLeft ? left.id : await createSnapshot(wishes);
  // Of each file that may be there the service is asked what it has.
  const begun = new Set(isLeft ? files.map(({ path }) => path) : []);
  const bytes = files.reduce((sum, { file }) => sum + file.size, 0);
  remember("upload", JSON.stringify({ id, chosen, files: files.length, bytes } satisfies LeftUpload));
  job = { id, left: [...files], sent: new Map(), begun, stop: new AbortController() };
  handUpload.set({
    ...{ snapshotId: id, status: "sending", files: files.length, filesSent: 0, bytesSent: 0, error: null, bytes },
  });
  addEventListener("beforeunload", askBeforeLeaving);
  void run(job);
}

async function createSnapshot(wishes: NewSnapshot): Promise<string> {
  const body: NewSnapshot = { ...wishes, trigger: "manual" };
  return (await perform((options) => client.snapshots.create({ body }, options))).id;
}

/** Whether files can still be added to a snapshot that this browser began. */
export async function isOpen(id: string): Promise<boolean> {
  try {
    const { status } = await client.snapshots.get({ id });
    return status === "queued" || status === "running";
  } catch (error) {
    if (isProblem(error, "not_found")) return false;
    throw error;
  }
}

/** Goes on after a pause. */
export function resumeUpload(): void {
  if (job === null || handUpload.get()?.status !== "paused") return;
  change({ status: "sending", error: null });
  void run(job);
}

export async function cancelUpload(): Promise<void> {
  if (job === null) return;
  const current = job;
  current.stop.abort();
  try {
    await perform((options) => client.snapshots.cancel({ id: current.id }, options));
  } catch (error) {
    // Nothing is lost: the person can go on, or cancel again.
    current.stop = new AbortController();
    change({ status: "paused", error });
    throw error;
  }
  end("canceled");
  await queries.invalidateQueries({ queryKey: ["snapshots"] });
}

function askBeforeLeaving(event: BeforeUnloadEvent): void {
  event.preventDefault();
}

function end(status: "completed" | "canceled"): void {
  job = null;
  forgetLeftUpload();
  removeEventListener("beforeunload", askBeforeLeaving);
  change({ status });
}

async function run(current: Job): Promise<void> {
  try {
    await Promise.all(Array.from({ length: atOnce }, () => sendFiles(current)));
    change({ status: "completing" });
    await patiently(current, async () => {
      for (;;) {
        const made = await client.snapshots.complete({ id: current.id }, { signal: current.stop.signal });
        if (made.status === "completed") return;
      }
    });
    end("completed");
    const old = ["snapshots", "sources", "vaults", "nights", "usage", "taxpayers"];
    await Promise.all(old.map((key) => queries.invalidateQueries({ queryKey: [key] })));
  } catch (error) {
    if (!current.stop.signal.aborted) change({ status: "paused", error });
  }
}

async function sendFiles(current: Job): Promise<void> {
  for (let next = current.left.shift(); next !== undefined; next = current.left.shift()) {
    const file = next;
    try {
      await patiently(current, () =>
        file.file.size > partBytes ? sendInParts(current, file) : sendAtOnce(current, file),
      );
    } catch (error) {
      current.left.push(file);
      throw error;
    }
    change({ filesSent: (handUpload.get()?.filesSent ?? 0) + 1 });
  }
}

/** Repeats what a lost connection or a busy service stopped. Failures count from the last byte that came through. */
async function patiently(current: Job, work: () => Promise<void>): Promise<void> {
  let failures = 0;
  for (;;) {
    const before = handUpload.get()?.bytesSent;
    try {
      await work();
      return;
    } catch (error) {
      current.stop.signal.throwIfAborted();
      if (before !== handUpload.get()?.bytesSent) failures = 0;
      failures += 1;
      const ms = waitBefore(error, failures);
      if (ms === null) throw error;
      change({ status: "waiting" });
      await untilOnline(ms, current.stop.signal);
      change({ status: "sending" });
    }
  }
}

/** Null where waiting does not help. */
function waitBefore(error: unknown, failures: number): number | null {
  const isOffline = error instanceof ConnectionError && !navigator.onLine;
  if (failures > maxFailures && !isOffline) return null;
  const ms = Math.min(maxWaitMs, firstWaitMs * 2 ** (Math.min(failures, maxFailures) - 1));
  if (error instanceof ConnectionError) return ms;
  if (!isProblem(error)) return null;
  if (error.status !== 429 && error.status < 500) return null;
  return Math.max(ms, Number(error.headers.get("retry-after") ?? 0) * 1000);
}

/** Waits; not longer than until the connection is back. */
function untilOnline(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
    signal.addEventListener("abort", done);
  });
}

function noteSent({ sent }: Job, path: string, bytes: number): void {
  const before = sent.get(path) ?? 0;
  sent.set(path, bytes);
  change({ bytesSent: (handUpload.get()?.bytesSent ?? 0) + bytes - before });
}

const timeOf = ({ lastModified }: File) => ({ "X-Emanet-Mtime": new Date(lastModified).toISOString() });

async function sendAtOnce(current: Job, { path, file }: ChosenFile): Promise<void> {
  const { id, stop } = current;
  const options = { headers: timeOf(file), signal: stop.signal, retries: { max: 0 } };
  const isThere = current.begun.has(path) && (await storedBytes(current, path)) === file.size;
  if (!isThere) await client.snapshots.putFile({ id, path, body: file }, options);
  noteSent(current, path, file.size);
}

const tus = { "Tus-Resumable": "1.0.0" };

async function sendInParts(current: Job, { path, file }: ChosenFile): Promise<void> {
  const { id, stop, begun } = current;
  const options = { signal: stop.signal, retries: { max: 0 } };
  let offset = begun.has(path) ? await storedBytes(current, path) : null;
  if (offset === null) {
    const headers = { ...tus, ...timeOf(file), "Upload-Length": String(file.size) };
    await client.snapshots.beginFile({ id, path }, { ...options, headers });
    begun.add(path);
    offset = 0;
  }
  noteSent(current, path, offset);
  while (offset < file.size) {
    const body = file.slice(offset, offset + partBytes);
    const headers = { ...tus, "Upload-Offset": String(offset) };
    await client.snapshots.appendFile({ id, path, body }, { ...options, headers });
    offset += body.size;
    noteSent(current, path, offset);
  }
}

/** What the service has of a file that was begun; null where it knows nothing of it. */
async function storedBytes({ id, stop }: Job, path: string): Promise<number | null> {
  const place = path.split("/").map(encodeURIComponent).join("/");
  const request = { method: "HEAD", path: `/v1/snapshots/${id}/files/${place}`, headers: tus, signal: stop.signal };
  try {
    const { headers } = await client.request(request);
    return Number(headers.get("upload-offset"));
  } catch (error) {
    if (error instanceof ConnectionError) throw error;
    // The answer to HEAD has no body, so its problem cannot be read. The file is begun again.
    return null;
  }
}

/**
 * File sessions: how this process stores files that come one by one. A session is an upload of the vault's catalog with a session
 * key of its own, which is only in memory. So each process has its own for a snapshot, and a new one after it was closed.
 *
 * Files that come at the same time are stored together: while one group is made durable, the next collects. A group is one
 * pack and one transaction of the catalog, whatever the number of its files. The files of a client that sends one after the other are
 * groups of one.
 *
 * What a session has stored is held by its upload in the catalog until the snapshot ends (`jobs.ts`), also after the process
 * has closed the session or has died.
 */

import {
  type CutPart,
  type FilePart,
  FileUpload,
  LocalTarget,
  recheckDamagedFrames,
  type Vault,
  WorkerDiedError,
  writerKeys,
} from "@emanet/engine";
import { monotonicMs, type Random } from "../kernel/clock.ts";
import { errorFields, type Log } from "../kernel/log.ts";
import { longestUploadMs, type SnapshotRecord, type SnapshotServices } from "../snapshots/index.ts";
import { type Vaults, writerName } from "../vaults/index.ts";
import { insertSession } from "./store.ts";

/** A session without use is closed after so long: a client that sends a file a minute keeps it. */
const idleMs = 90_000;
const lookEveryMs = 15_000;

/** Sessions that may stay open without use. Each keeps the memory of what it cut last, up to 40 MiB with large files. */
const maxIdle = 32;

/** Files that are made durable together: what workers cut in some tens of milliseconds. */
const maxGroup = 64;

/** Attempts after a worker thread has died, as for a backup. */
const maxAttempts = 3;

/** Longer than any upload is open. An upload that has ended is released by a job, so the lease is for what jobs miss. */
export const sessionLeaseMs = longestUploadMs + 24 * 60 * 60 * 1000;

/** The contract's. */
const completionWaitMs = 20_000;

export interface FileServices {
  /** Stores a part of a file. When it resolves, the part is durable and held. */
  store(record: SnapshotRecord, part: FilePart): Promise<CutPart>;
  /** Closes the session of a snapshot in this process, if it has one. */
  close(snapshotId: string): Promise<void>;
  /** A completion that takes longer is answered with 202. */
  readonly completionWaitMs: number;
}

declare module "../kernel/domain-services.ts" {
  interface Services {
    readonly files: FileServices;
  }
}

interface Sources {
  readonly vaults: Vaults;
  readonly snapshots: SnapshotServices;
  readonly random: Random;
  readonly log: Log;
  readonly onStop: (stop: () => Promise<unknown>) => void;
}

export function openFiles(sources: Sources): FileServices {
  const sessions = new FileSessions(sources);
  sources.onStop(() => sessions.stop());
  return {
    store: (record, part) => sessions.store(record, part),
    close: (id) => sessions.close(id),
    completionWaitMs,
  };
}

/** The target of a file session, or of the upload that makes the tree. */
export function targetOf(vault: Vault, record: SnapshotRecord, upload: string): LocalTarget {
  return new LocalTarget({
    ...{ access: vault, upload, owner: ownerOf(record), authority: vault.authority, leaseMs: sessionLeaseMs },
    scope: record.is_write_only ? "lineage" : "vault",
    recheck: () => recheckDamagedFrames(vault),
  });
}

export function ownerOf({ created_by_kind: kind, created_by_id: id }: SnapshotRecord): string {
  return writerName({ kind, id });
}

/** A new name for an upload of the catalog that belongs to a snapshot. */
export function newUploadName(random: Random, snapshotId: string): string {
  return `${snapshotId}/${random.uuid()}`;
}

const endless = new AbortController().signal;

class FileSessions {
  readonly #sources: Sources;
  /** The one used last is the last. */
  readonly #open = new Map<string, Promise<FileSession>>();
  readonly #timer: NodeJS.Timeout;

  constructor(sources: Sources) {
    this.#sources = sources;
    this.#timer = setInterval(() => void this.#closeIdle(), lookEveryMs).unref();
  }

  async store(record: SnapshotRecord, part: FilePart): Promise<CutPart> {
    for (let attempt = 1; ; attempt++) {
      const session = await this.#session(record);
      try {
        return await session.store(part);
      } catch (error) {
        // What failed may have left its frames unsealed: the next file gets a new session.
        await this.#drop(record.id, session);
        const isRepeatable = error instanceof WorkerDiedError || error instanceof SessionClosedError;
        if (!isRepeatable || attempt >= maxAttempts) throw error;
      }
    }
  }

  async close(snapshotId: string): Promise<void> {
    const session = await this.#open.get(snapshotId)?.catch(() => null);
    if (session != null) await this.#drop(snapshotId, session);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#open.keys()].map((id) => this.close(id)));
  }

  async #session(record: SnapshotRecord): Promise<FileSession> {
    const opening = this.#open.get(record.id) ?? this.#begin(record);
    this.#open.delete(record.id);
    this.#open.set(record.id, opening);
    try {
      return await opening;
    } catch (error) {
      if (this.#open.get(record.id) === opening) this.#open.delete(record.id);
      throw error;
    }
  }

  async #begin(record: SnapshotRecord): Promise<FileSession> {
    const { vaults, snapshots, random } = this.#sources;
    const vault = await vaults.open(record.account_id, record.vault_id);
    const upload = newUploadName(random, record.id);
    const context = { actor: { kind: "system" }, context: {}, signal: endless } as const;
    const access = { kind: "account", accountId: record.account_id } as const;
    await snapshots.transactions.run(context, access, (tx) => insertSession(tx, record, upload));
    const target = targetOf(vault, record, upload);
    const begun = await FileUpload.begin({
      ...{ ctx: vault.ctx, keys: writerKeys(vault.keys), signer: vault.authority, pool: snapshots.cutPool },
      target,
    });
    return new FileSession(begun, (work) => snapshots.backups.run(record.account_id, endless, work));
  }

  async #drop(id: string, session: FileSession): Promise<void> {
    const opening = this.#open.get(id);
    if (opening !== undefined && (await opening.catch(() => null)) === session) this.#open.delete(id);
    await session.close();
  }

  async #closeIdle(): Promise<void> {
    const now = monotonicMs();
    let idle = 0;
    // The ones used last come first.
    for (const [id, opening] of [...this.#open].reverse()) {
      const session = await opening.catch(() => null);
      if (session === null || session.isBusy) continue;
      if (++idle <= maxIdle && now - session.usedAt < idleMs) continue;
      await this.#drop(id, session).catch((error: unknown) =>
        this.#sources.log.warn("file_session_not_closed", { ...errorFields(error), target_id: id }),
      );
    }
  }
}

interface Waiting {
  readonly part: FilePart;
  readonly resolve: (part: CutPart) => void;
  readonly reject: (error: unknown) => void;
}

/** The session was closed while a file was on its way to it. */
class SessionClosedError extends Error {
  override readonly name = "SessionClosedError";
}

/** One open session. */
class FileSession {
  readonly #upload: FileUpload;
  readonly #inPlace: (work: () => Promise<void>) => Promise<void>;
  readonly #waiting: Waiting[] = [];
  #working: Promise<void> | null = null;
  #failure: unknown = null;
  #isClosed = false;
  usedAt = monotonicMs();

  constructor(upload: FileUpload, inPlace: (work: () => Promise<void>) => Promise<void>) {
    this.#upload = upload;
    this.#inPlace = inPlace;
  }

  get isBusy(): boolean {
    return this.#working !== null;
  }

  store(part: FilePart): Promise<CutPart> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ part, resolve, reject });
      this.#working ??= this.#work();
    });
  }

  /** Waits for what is being stored, and releases the memory. */
  async close(): Promise<void> {
    await this.#working;
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#upload.close();
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, maxGroup);
      try {
        if (this.#failure !== null) throw this.#failure;
        if (this.#isClosed) throw new SessionClosedError();
        await this.#inPlace(() => this.#storeGroup(group));
      } catch (error) {
        this.#failure = error;
        for (const { reject } of group) reject(error);
      }
      this.usedAt = monotonicMs();
    }
    this.#working = null;
  }

  async #storeGroup(group: readonly Waiting[]): Promise<void> {
    const cut = await Promise.all(group.map(({ part }) => this.#upload.cut(part)));
    await this.#upload.flush();
    for (const [i, { resolve, reject }] of group.entries()) {
      const part = cut[i];
      if (part === undefined) reject(new Error("a part was not cut"));
      else resolve(part);
    }
  }
}

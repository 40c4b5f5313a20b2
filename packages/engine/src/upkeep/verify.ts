/**
 * Verify: walks snapshots from their roots and compares everything with its id. It needs the keys of the vault.
 *
 * In: snapshots. Out: findings (snapshot, path, reason), and the frames that are damaged. Damage is a finding and not an
 * exception. Steps for each snapshot:
 * 1. Walk its tree. Every node is compared with its id when it is read.
 * 2. Plan its files in windows (`../restore/window.ts`): recipes and block lists are compared with the segment ids, and
 *    these with the file hashes.
 * 3. With `readData`, open frames and compare every block with its id (`frame-checker.ts`): every frame, or with
 *    `"unverified"` those that have a mark of damage or a segment that was never read back.
 * 4. Compare the ordinals that were reached with the bitmap in the manifest.
 * 5. If there is no finding and `readData` is set, mark its items as verified in the catalog. Then other owners may use
 *    them. Only items whose frames were read are marked: a block list that was not compared with its blocks may be wrong.
 *    What is marked already stays so.
 *
 * Snapshots share most of their nodes and files. Each node, file and frame is read and checked once: what was checked for one
 * snapshot holds for the next, because the same id means the same content (`node-graph.ts`, `checked-files.ts`). So the work
 * follows what is stored and not snapshots × files. A night adds a few files and nodes. So several snapshots are walked one after
 * the other, and steps 2, 3 and 5 are done for all of them together. If there is a finding, they are verified again one by one.
 * A node with a finding below it is walked for each snapshot that has it: damage is reported for each of them. Backups and upkeep may run meanwhile: what looks damaged is planned a second time
 * before it is reported. If verify is interrupted, the marks that were set stay, and the next verify starts again.
 */

import type { FrameVersion, SnapshotRow } from "../catalog/catalog.ts";
import { Bitmap } from "../format/bitmap.ts";
import { FormatError, sameBytes } from "../format/bytes.ts";
import { FileHash, fileHash } from "../format/hash.ts";
import { PlainFile } from "../format/plain-file.ts";
import type { FileContent, FileEntry, Reference, SegmentReference, TreeEntry } from "../format/tree-entry.ts";
import { directoryRows, maxDepth, NameOrder, segmentsOf } from "../format/tree-reader.ts";
import type { FrameReader } from "../restore/frame-reader.ts";
import { DamageError } from "../restore/frame-reader.ts";
import { frameReaderOf } from "../restore/local-read-port.ts";
import type { FramePlan, PlannedFile } from "../restore/window.ts";
import { maxWindowFiles, planWindow } from "../restore/window.ts";
import type { ReadableVault } from "../vault.ts";
import type { RestoreWorkerPool } from "../workers/restore-worker-pool.ts";
import { CheckedFiles } from "./checked-files.ts";
import { FrameChecker } from "./frame-checker.ts";
import { NodeGraph, ReachCounter } from "./node-graph.ts";
import { VerifiedMarks } from "./verified-marks.ts";

export interface VerifyFinding {
  readonly snapshot: string;
  readonly path: Uint8Array;
  readonly reason: string;
  readonly pack: string | null;
  readonly frame: number;
}

export interface VerifyReport {
  readonly snapshots: number;
  readonly files: number;
  readonly frames: number;
  readonly findings: readonly VerifyFinding[];
  /** Frames that are damaged. The caller marks them in the catalog. */
  readonly damagedFrames: readonly FrameVersion[];
}

export interface VerifyOptions {
  readonly vault: ReadableVault;
  /** Read a few at a time: a bitmap of each is in memory. */
  readonly snapshots: Iterable<SnapshotRow> | AsyncIterable<SnapshotRow>;
  /** Opens frames and compares their blocks. */
  readonly pool: RestoreWorkerPool;
  /**
   * Open frames and compare every block: all of them, or only content that was not verified before. Without it only nodes,
   * recipes and block lists are checked.
   */
  readonly readData: boolean | "unverified";
  /** Memory for nodes and files that were checked and need not be checked again: half for each. */
  readonly memoryBytes?: number | undefined;
  readonly onProgress?: ((progress: { readonly files: number; readonly frames: number }) => void) | undefined;
}

const slash = Buffer.from("/");

/**
 * Four times the longest path of Linux. Every directory on the way down keeps its path, and a window one for each file: a client
 * may nest thousands of directories with long names in a few megabytes.
 */
const maxPathBytes = 16 * 1024;

/** Snapshots that are verified together: their roots are read at the same time. Of each its bitmap is in memory. */
const snapshotsPerGroup = 32;

/** Bytes of their stored bitmaps. A vault with very many items has large ones. */
const bitmapBytesPerGroup = 4 * 1024 * 1024;

/** Files that end a group. With more, later snapshots of the group would plan the same files once more. */
const filesPerGroup = 512;

/**
 * The default of `memoryBytes`: about 75 000 nodes (of 1.5 million files), and 110 000 files. What does not fit is checked for each
 * snapshot that has it.
 */
const defaultMemoryBytes = 32 * 1024 * 1024;

/** A node while it is walked. */
interface WalkedNode {
  files: number;
  readonly ordinals: number[];
  readonly children: number[];
  firstName: Uint8Array | null;
  lastName: Uint8Array | null;
  /** Something below it has a finding, or is not kept in the graph. Then the node is not kept either. */
  isIncomplete: boolean;
  /** Its number in the graph. */
  number: number | null;
}

/** What the node above needs of a node. */
type NodeBelow = Pick<WalkedNode, "number" | "files" | "firstName" | "lastName">;

/** A directory while its nodes are walked. */
interface DirectoryWalk {
  readonly snapshot: WalkedSnapshot;
  readonly path: Buffer;
  readonly order: NameOrder;
}

/** A snapshot whose tree was walked. */
interface WalkedSnapshot {
  readonly row: SnapshotRow;
  /** Its nodes that are in the graph and have no node of the graph above them. */
  readonly roots: number[];
  /** The ordinals of its nodes that are not in the graph. */
  readonly otherReach: Bitmap;
}

/** A file, or a part of one, that waits for its check, and the leaf that has its entry. */
interface FileToCheck extends PlannedFile {
  readonly row: SnapshotRow;
  readonly leaf: WalkedNode;
  readonly isLastPart: boolean;
}

/** Segments of a list that are checked together: with their blocks some ten megabytes. */
const segmentsPerPart = 8192;

/** Verifies the snapshots. */
export async function verifySnapshots(options: VerifyOptions): Promise<VerifyReport> {
  const verifier = new Verifier(options);
  let group: readonly SnapshotRow[] = [];
  for await (const next of groupsOf(options.snapshots)) {
    // While one group is verified, the roots of the next are read.
    const ahead = verifier.openAhead(next);
    ahead.catch(() => undefined);
    await verifier.verify(group);
    await ahead;
    group = next;
  }
  await verifier.verify(group);
  return verifier.report();
}

async function* groupsOf(snapshots: VerifyOptions["snapshots"]): AsyncGenerator<readonly SnapshotRow[]> {
  let group: SnapshotRow[] = [];
  let bytes = 0;
  for await (const row of snapshots) {
    bytes += row.reach.length;
    if (group.push(row) < snapshotsPerGroup && bytes < bitmapBytesPerGroup) continue;
    yield group;
    group = [];
    bytes = 0;
  }
  if (group.length > 0) yield group;
}

class Verifier {
  readonly #options: VerifyOptions;
  readonly #reader: FrameReader;
  readonly #frames: FrameChecker;
  readonly #marks: VerifiedMarks;
  readonly #findings: VerifyFinding[] = [];
  #damaged = new Map<number, FrameVersion>();
  readonly #graph: NodeGraph;
  readonly #counter: ReachCounter;
  readonly #checkedFiles: CheckedFiles;
  /** Nodes with a smaller number were checked for an earlier snapshot. */
  #firstOfSnapshot = 0;
  readonly #plainFile = new PlainFile();
  readonly #failedLeaves = new Set<WalkedNode>();
  #window: FileToCheck[] = [];
  #snapshots = 0;
  #files = 0;

  constructor(options: VerifyOptions) {
    this.#options = options;
    this.#reader = frameReaderOf(options.vault, { readsAll: true });
    this.#frames = new FrameChecker({ ...options, reader: this.#reader, onChecked: () => this.#reportProgress() });
    this.#marks = new VerifiedMarks({ ...options, frames: this.#frames, reader: this.#reader });
    const memoryBytes = options.memoryBytes ?? defaultMemoryBytes;
    this.#graph = new NodeGraph(memoryBytes / 2);
    this.#counter = new ReachCounter(this.#graph);
    this.#checkedFiles = new CheckedFiles(memoryBytes / 2);
  }

  /** Reads the roots of snapshots that are verified next. */
  openAhead(rows: readonly SnapshotRow[]): Promise<void> {
    return this.#reader.openAhead(rows.map(rootOf));
  }

  async verify(rows: readonly SnapshotRow[]): Promise<void> {
    this.#snapshots += rows.length;
    for (let at = 0; at < rows.length; ) at += await this.#verifyGroup(rows.slice(at));
  }

  /** Verifies the first of these snapshots together, as many as have few new files. Returns how many. */
  async #verifyGroup(rows: readonly SnapshotRow[]): Promise<number> {
    const before = { findings: this.#findings.length, files: this.#files, damaged: new Map(this.#damaged) };
    const firstNode = this.#graph.size;
    const group: WalkedSnapshot[] = [];
    for (const row of rows) {
      group.push(await this.#walk(row));
      if (this.#window.length >= filesPerGroup || this.#findings.length > before.findings) break;
    }
    const hasNone = () => this.#findings.length === before.findings;
    await this.#checkRest(group, firstNode);
    const reached = hasNone() ? this.#compareReach(group) : new Bitmap();
    if (hasNone() && this.#options.readData !== false)
      for (const version of await this.#marks.mark(reached)) this.#damaged.set(version.frame, version);
    if (hasNone() || group.length === 1) return group.length;
    // Of a node that two of them have, the walk has found damage for the first one only.
    this.#findings.length = before.findings;
    this.#files = before.files;
    this.#damaged = before.damaged;
    this.#graph.forget(firstNode);
    for (const { row } of group) await this.#verifyGroup([row]);
    return group.length;
  }

  async #walk(row: SnapshotRow): Promise<WalkedSnapshot> {
    const snapshot: WalkedSnapshot = { row, roots: [], otherReach: new Bitmap() };
    this.#firstOfSnapshot = this.#graph.size;
    try {
      const { number } = await this.#walkDirectory(snapshot, rootOf(row), Buffer.alloc(0));
      if (number !== null) snapshot.roots.push(number);
    } catch (error) {
      this.#addFinding(row, Buffer.alloc(0), error);
    }
    return snapshot;
  }

  /** Checks the files that wait, and drops the nodes that have files with findings. */
  async #checkRest(group: readonly WalkedSnapshot[], firstNode: number): Promise<void> {
    try {
      await this.#checkWindow();
    } catch (error) {
      const last = group.at(-1);
      if (last === undefined) throw error;
      this.#addFinding(last.row, Buffer.alloc(0), error);
    }
    const failed = [...this.#failedLeaves].flatMap(({ number }) => number ?? []);
    if (failed.length > 0) this.#graph.drop(failed, firstNode);
    this.#failedLeaves.clear();
  }

  /** Compares what each snapshot reaches with its bitmap. Returns what they reach together. */
  #compareReach(group: readonly WalkedSnapshot[]): Bitmap {
    const together = new Bitmap();
    for (const { row, roots, otherReach: reach } of group) {
      this.#counter.moveTo(roots);
      reach.or(this.#counter.reach);
      together.or(reach);
      if (reach.equals(Bitmap.decode(row.reach))) continue;
      const reason = "its bitmap differs from what it reaches";
      this.#findings.push({ snapshot: row.id, path: Buffer.alloc(0), reason, pack: null, frame: 0 });
    }
    return together;
  }

  report(): VerifyReport {
    return {
      snapshots: this.#snapshots,
      files: this.#files,
      frames: this.#frames.count,
      findings: this.#findings,
      damagedFrames: [...this.#damaged.values()],
    };
  }

  async #walkDirectory(snapshot: WalkedSnapshot, root: Reference, path: Buffer): Promise<NodeBelow> {
    return this.#walkNode({ snapshot, path, order: new NameOrder() }, root, 0);
  }

  /** Walks a node, unless it was checked for an earlier snapshot. */
  async #walkNode(directory: DirectoryWalk, at: Reference, depth: number): Promise<NodeBelow> {
    const known = this.#graph.find(at);
    if (known !== null && known < this.#firstOfSnapshot) return this.#countKnownNode(directory, known);
    if (depth > maxDepth) throw new FormatError("a tree is too deep");
    const node: WalkedNode = {
      ...{ files: 0, ordinals: [at.ordinal], children: [] },
      ...{ firstName: null, lastName: null, isIncomplete: false, number: null },
    };
    // Most entries of a changed leaf were checked before. They need no object, no promise and no path.
    const pass = (bytes: Buffer, from: number) => this.#passKnownFile(directory, node, bytes, from);
    for (const row of directoryRows(await this.#reader.node(at), pass))
      if (row.kind === "entry") {
        checkName(directory, row.entry.name, node);
        if (!this.#countKnownFile(row.entry, node)) await this.#addEntry(directory, row.entry, node);
      } else {
        const child = await this.#walkNode(directory, row.reference, depth + 1);
        addBelow(node, child);
        node.firstName ??= child.firstName;
        node.lastName = child.lastName ?? node.lastName;
      }
    return this.#keepNode(directory, at, node);
  }

  #countKnownNode({ order }: DirectoryWalk, number: number): NodeBelow {
    const { first, last } = this.#graph.names(number);
    if (first !== null && last !== null) order.checkRange(first, last);
    const files = this.#graph.files(number);
    this.#files += files;
    return { number, files, firstName: first, lastName: last };
  }

  /** Puts a walked node into the graph. If it cannot be kept, what it reaches counts for this snapshot only. */
  #keepNode({ snapshot }: DirectoryWalk, at: Reference, node: WalkedNode): WalkedNode {
    node.number = node.isIncomplete ? null : this.#graph.add(at, node);
    if (node.number === null) {
      for (const ordinal of node.ordinals) snapshot.otherReach.add(ordinal);
      snapshot.roots.push(...node.children);
    }
    return node;
  }

  /** Passes over the entry of a file that was checked before. Returns its bytes, or 0 if it must be decoded. */
  #passKnownFile(directory: DirectoryWalk, leaf: WalkedNode, bytes: Buffer, at: number): number {
    const file = this.#plainFile;
    if (!file.read(bytes, at) || !this.#checkedFiles.hasBytes(bytes, file.contentStart, file.contentEnd)) return 0;
    checkName(directory, bytes.subarray(file.nameStart, file.nameEnd), leaf);
    for (const ordinal of file.ordinals) addOrdinal(leaf, ordinal);
    leaf.files++;
    this.#files++;
    return file.end - at;
  }

  /** Counts a file that was checked before. False if it must be checked. The nodes of a segment list are always read. */
  #countKnownFile(entry: TreeEntry, leaf: WalkedNode): boolean {
    if (entry.type !== "file" || entry.content.kind === "list" || !this.#checkedFiles.has(entry)) return false;
    addOrdinals(leaf, entry.content);
    leaf.files++;
    this.#files++;
    return true;
  }

  async #addEntry({ snapshot, path }: DirectoryWalk, entry: TreeEntry, leaf: WalkedNode): Promise<void> {
    const at = path.length === 0 ? Buffer.from(entry.name) : Buffer.concat([path, slash, entry.name]);
    try {
      if (at.length > maxPathBytes) throw new FormatError("a path is too long");
      if (entry.type === "directory") addBelow(leaf, await this.#walkDirectory(snapshot, entry.root, at));
      else if (entry.type === "file") await this.#addFile(snapshot.row, at, entry, leaf);
    } catch (error) {
      leaf.isIncomplete = true;
      this.#addFinding(snapshot.row, at, error);
    }
  }

  async #addFile(row: SnapshotRow, path: Buffer, entry: FileEntry, leaf: WalkedNode): Promise<void> {
    leaf.files++;
    const { content } = entry;
    if (content.kind === "list") return this.#addListedFile(row, path, entry, leaf);
    const segments = content.kind === "segments" ? content.segments : [];
    addOrdinals(leaf, content);
    this.#window.push({ row, path, entry, segments, leaf, isLastPart: true });
    if (this.#window.length >= maxWindowFiles) await this.#checkWindow();
  }

  /** Checks a file with a segment list part by part: its segments are never in memory all together. */
  async #addListedFile(row: SnapshotRow, path: Buffer, entry: FileEntry, leaf: WalkedNode): Promise<void> {
    const isKnown = this.#checkedFiles.has(entry);
    const before = this.#findings.length;
    const fileDigest = new FileHash(entry.size);
    let segments: SegmentReference[] = [];
    let size = 0;
    const addPart = (isLastPart: boolean) => {
      const bytes = segments.reduce((sum, segment) => sum + segment.bytes, 0);
      const ids = segments.map(({ id }) => id);
      // The part of a file as a file of its own. Its own size and hash are right, so only its blocks are checked.
      const part = { ...entry, size: bytes, hash: fileHash(bytes, ids) };
      this.#window.push({ row, path, entry: part, segments, leaf, isLastPart });
      segments = [];
    };
    for await (const segment of segmentsOf(this.#reader, entry.content, (node) => addOrdinal(leaf, node.ordinal))) {
      addOrdinal(leaf, segment.ordinal);
      fileDigest.add(segment.id);
      size += segment.bytes;
      if (!isKnown && segments.push(segment) >= segmentsPerPart) {
        addPart(false);
        await this.#checkWindow();
      }
    }
    if (!sameBytes(fileDigest.finish(), entry.hash)) throw new DamageError(0, "its segments do not match its hash");
    if (size !== entry.size) throw new DamageError(0, "its segments do not match its size");
    if (isKnown) this.#files++;
    else addPart(true);
    await this.#checkWindow();
    if (this.#findings.length === before) this.#checkedFiles.add(entry);
  }

  async #checkWindow(): Promise<void> {
    const files = this.#window;
    this.#window = [];
    if (files.length === 0) return;
    const failed = await this.#checkFiles(files);
    const toRetry = [...failed.keys()].map((i) => files[i]).filter((file) => file !== undefined);
    // Repack may have moved blocks, and prune deleted their old frames, since the window was planned. So files that look
    // damaged are planned a second time. Only what fails again is reported.
    const failedTwice = new Set<FileToCheck>();
    for (const [i, failures] of await this.#checkFiles(toRetry)) {
      const file = toRetry[i];
      if (file === undefined) continue;
      failedTwice.add(file);
      file.leaf.isIncomplete = true;
      this.#failedLeaves.add(file.leaf);
      for (const failure of failures) this.#addFinding(file.row, file.path, failure);
    }
    for (const file of files)
      if (file.entry.content.kind !== "list" && !failedTwice.has(file)) this.#checkedFiles.add(file.entry);
    this.#files += files.filter(({ isLastPart }) => isLastPart).length;
    this.#reportProgress();
  }

  /** Checks everything that these files need. Returns the failures by the position of the file. */
  async #checkFiles(files: readonly PlannedFile[]): Promise<ReadonlyMap<number, readonly DamageError[]>> {
    const failed = new Map<number, DamageError[]>();
    const fail = (i: number, error: DamageError) => failed.set(i, [...(failed.get(i) ?? []), error]);
    if (files.length === 0) return failed;
    const { vault, readData } = this.#options;
    const plan = await planWindow(vault.catalog, vault.keys.blockIdKey, files);
    for (const [i, reason] of plan.failed) fail(i, new DamageError(0, reason));
    const needsReading = ({ row, verified }: FramePlan) => readData === true || !verified || row.damaged;
    const frames = readData === false ? [] : plan.frames.filter(needsReading);
    await this.#frames.checkAll(frames.map((each) => each.row));
    for (const { row: frame, pieces } of frames) {
      const damage = await this.#frames.check(frame.frame);
      if (damage !== null) for (const i of new Set(pieces.map(({ file }) => file))) fail(i, damage);
    }
    return failed;
  }

  #reportProgress(): void {
    this.#options.onProgress?.({ files: this.#files, frames: this.#frames.count });
  }

  #addFinding(row: SnapshotRow, path: Uint8Array, cause: unknown): void {
    // The node matches its id. So bytes that break the format were written like that.
    const error = cause instanceof FormatError ? new DamageError(0, cause.message, { cause }) : cause;
    if (!(error instanceof DamageError)) throw error;
    if (error.version !== null) this.#damaged.set(error.frame, error.version);
    this.#findings.push({
      snapshot: row.id,
      path: Buffer.from(path),
      reason: error.message,
      pack: error.pack,
      frame: error.frame,
    });
  }
}

/** Adds a node to the one above it: a node of the same directory, or the root of a directory in a leaf. */
function addBelow(above: WalkedNode, { number, files }: NodeBelow): void {
  above.files += files;
  if (number === null) above.isIncomplete = true;
  else above.children.push(number);
}

/** Checks the order of an entry's name in its directory, and notes the first and last name of the leaf. */
function checkName({ order }: DirectoryWalk, name: Uint8Array, leaf: WalkedNode): void {
  order.check(name);
  leaf.firstName ??= name;
  leaf.lastName = name;
}

/** Adds what a file of the leaf reaches, without the nodes and segments of a list. */
function addOrdinals(leaf: WalkedNode, content: FileContent): void {
  if (content.kind === "part") addOrdinal(leaf, content.segment.ordinal);
  else if (content.kind === "segments") for (const { ordinal } of content.segments) addOrdinal(leaf, ordinal);
}

/** The files of one bundle follow each other and have the same ordinal. */
function addOrdinal(leaf: WalkedNode, ordinal: number): void {
  if (ordinal !== leaf.ordinals.at(-1)) leaf.ordinals.push(ordinal);
}

function rootOf({ rootOrdinal, rootId }: SnapshotRow): Reference {
  return { ordinal: rootOrdinal, id: rootId };
}

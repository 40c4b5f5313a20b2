/**
 * The verbs of the command and their options. Parsing, help and completion all read this table.
 *
 * `on` says where a verb works: on the service, on a local repository (`--repo DIR`), on both, or on neither.
 */

export interface OptionSpec {
  readonly type: "string" | "boolean";
  readonly multiple?: boolean;
  readonly short?: string;
  /** What the value is, for the help text. */
  readonly value?: string;
  readonly help: string;
}

export interface VerbSpec {
  readonly words: string;
  readonly help: string;
  readonly on: "service" | "repository" | "both" | "machine";
  readonly options: readonly OptionName[];
}

export const optionTable = {
  repo: { type: "string", value: "DIR", help: "a local repository in place of the service" },
  kit: {
    type: "string",
    value: "FILE",
    help: "a recovery kit: then --repo is a copy of the bucket, which is only read",
  },
  json: { type: "boolean", help: "JSON on standard output, for programs" },
  quiet: { type: "boolean", short: "q", help: "no progress, and no summary where all is well" },
  threads: { type: "string", value: "N", help: "worker threads (default: one per core)" },
  help: { type: "boolean", short: "h", help: "show this help" },
  url: { type: "string", value: "URL", help: "address of the service" },
  "ca-file": { type: "string", value: "FILE", help: "PEM of a certificate authority to trust as well" },
  "client-id": { type: "string", value: "ID", help: "sign in as an OAuth client" },
  "client-secret-file": {
    type: "string",
    value: "FILE",
    help: "file with the client's secret; - reads standard input",
  },
  from: { type: "string", value: "FILE", help: "take address and client from a first-run.json" },
  read: { type: "boolean", help: "ask for the right to read, for an hour" },
  name: { type: "string", value: "NAME", help: "name of this machine in the dashboard" },
  vault: { type: "string", value: "ID", multiple: true, help: "a vault by its id" },
  source: { type: "string", short: "s", value: "NAME", help: "what is backed up, under one name" },
  label: { type: "string", value: "TEXT", help: "a name of the snapshot for people" },
  taxpayer: { type: "string", value: "ID", help: "the taxpayer whose vault is meant" },
  trigger: { type: "string", value: "WORD", help: "manual, schedule, api or e_archive (default manual)" },
  reference: { type: "string", value: "TEXT", help: "your own id of this backup" },
  include: { type: "string", multiple: true, value: "PATTERN", help: "only files that match; may be repeated" },
  exclude: {
    type: "string",
    short: "e",
    multiple: true,
    value: "PATTERN",
    help: "leave out what matches; may be repeated",
  },
  "exclude-file": {
    type: "string",
    multiple: true,
    value: "FILE",
    help: "patterns to leave out, one per line; ! takes back in",
  },
  "exclude-caches": { type: "boolean", help: "leave out the content of folders with a CACHEDIR.TAG" },
  "one-file-system": { type: "boolean", short: "x", help: "do not enter other file systems" },
  stdin: { type: "string", value: "NAME", help: "back up standard input as a file of this name" },
  "limit-upload": { type: "string", value: "KB/S", help: "send at most so many kilobytes per second" },
  "limit-download": { type: "string", value: "KB/S", help: "fetch at most so many kilobytes per second" },
  force: { type: "boolean", short: "f", help: "read every file again" },
  all: { type: "boolean", help: "also what is not complete" },
  recursive: { type: "boolean", short: "r", help: "also everything below" },
  snapshot: { type: "string", value: "ID", help: "in this snapshot only" },
  target: { type: "string", short: "t", value: "DIR", help: "folder to restore into" },
  overwrite: { type: "string", value: "MODE", help: "always, if-changed, if-newer or never, for a folder with files" },
  "dry-run": { type: "boolean", short: "n", help: "say what would be done, and do nothing" },
  delete: { type: "boolean", help: "delete what the snapshot does not have" },
  owners: { type: "boolean", help: "restore the owners of files (needs rights)" },
  full: { type: "boolean", help: "read and hash all data" },
  "give-up": { type: "string", multiple: true, value: "ID", help: "a snapshot that cannot be recovered" },
  profile: {
    type: "string",
    value: "NAME",
    help: "luca, zirve, logo, mikro or wolvox: leave out what these programs do not need",
  },
  "per-taxpayer": {
    type: "boolean",
    help: "one snapshot per taxpayer; folders are found by the tax number in their name",
  },
  root: { type: "string", multiple: true, value: "DIR", help: "a folder below which restores may be ordered" },
  "allow-overwrite": { type: "boolean", help: "orders may replace files" },
  once: { type: "boolean", help: "do what is ordered now, and end" },
  at: { type: "string", value: "HH:MM", help: "time of the day (default 02:00)" },
  with: { type: "string", value: "NAME", help: "systemd, cron, launchd or tasks (default: what this system has)" },
  print: { type: "boolean", help: "show what would be written, and write nothing" },
  remove: { type: "boolean", help: "remove the schedule of this source" },
  "keep-last": { type: "string", value: "N", help: "keep the last N snapshots" },
  "keep-daily": { type: "string", value: "N", help: "keep the last one of N days" },
  "keep-weekly": { type: "string", value: "N", help: "keep the last one of N weeks" },
  "keep-monthly": { type: "string", value: "N", help: "keep the last one of N months" },
  "keep-yearly": { type: "string", value: "N", help: "keep the last one of N years" },
} as const satisfies Readonly<Record<string, OptionSpec>>;

export type OptionName = keyof typeof optionTable;

/** Every verb takes these. */
export const commonOptions = ["json", "quiet", "help"] as const satisfies readonly OptionName[];

/** A local repository has nothing of the kind, so with `--repo` they are refused. */
export const serviceOptions = [
  ...(["label", "vault", "taxpayer", "trigger", "reference", "limit-upload", "limit-download"] as const),
] as const satisfies readonly OptionName[];

const filters = ["include", "exclude", "exclude-file"] as const;

export const verbs = {
  login: {
    words: "",
    help: "sign this machine in: a person approves it in a browser, or an OAuth client",
    on: "service",
    options: ["url", "ca-file", "client-id", "client-secret-file", "from", "read", "name", "vault"],
  },
  logout: { words: "", help: "forget the sign-in and end its grants", on: "service", options: [] },
  init: { words: "", help: "create an empty local repository", on: "repository", options: ["repo"] },
  backup: {
    words: "PATH…",
    help: "back up files and folders",
    on: "both",
    options: [
      ...(["repo", "threads", "source", "label", "vault", "taxpayer", "trigger", "reference", ...filters] as const),
      ...(["exclude-caches", "one-file-system", "stdin", "limit-upload", "force", "profile", "per-taxpayer"] as const),
    ],
  },
  snapshots: {
    words: "",
    help: "list snapshots, newest first",
    on: "both",
    options: ["repo", "kit", "source", "vault", "all"],
  },
  ls: {
    words: "SNAPSHOT [PATH]",
    help: "list a folder of a snapshot",
    on: "both",
    options: ["repo", "kit", "source", "vault", "recursive"],
  },
  find: {
    words: "NAME",
    help: "find files by a part of their name, or by a pattern with * and ?",
    on: "both",
    options: ["repo", "kit", "source", "vault", "snapshot"],
  },
  history: {
    words: "FILE",
    help: "list the versions of a file",
    on: "both",
    options: ["repo", "kit", "source", "vault"],
  },
  diff: {
    words: "SNAPSHOT SNAPSHOT",
    help: "what changed from one to the other",
    on: "both",
    options: ["repo", "kit", "source", "vault"],
  },
  cat: {
    words: "SNAPSHOT FILE",
    help: "write a file to standard output",
    on: "both",
    options: ["repo", "kit", "source", "vault", "limit-download"],
  },
  restore: {
    words: "SNAPSHOT [PATH…]",
    help: "restore a snapshot, or files and folders of it",
    on: "both",
    options: [
      ...(["repo", "kit", "threads", "source", "vault", "target", ...filters, "overwrite", "dry-run"] as const),
      ...(["delete", "owners", "full", "limit-download"] as const),
    ],
  },
  check: {
    words: "[SNAPSHOT]",
    help: "read back and compare with the hashes; on the service the newest snapshot",
    on: "both",
    options: ["repo", "kit", "threads", "source", "vault", "full", "limit-download"],
  },
  forget: {
    words: "[SNAPSHOT…]",
    help: "delete snapshots by id, or all but those that --keep-… keeps",
    on: "repository",
    options: ["repo", "source", "dry-run", "keep-last", "keep-daily", "keep-weekly", "keep-monthly", "keep-yearly"],
  },
  prune: { words: "", help: "delete packs that no snapshot needs", on: "repository", options: ["repo", "give-up"] },
  repack: {
    words: "",
    help: "copy scattered blocks together, heal damage",
    on: "repository",
    options: ["repo", "threads"],
  },
  scrub: { words: "", help: "read all packs and check them without keys", on: "repository", options: ["repo"] },
  rebuild: { words: "", help: "rebuild the catalog from the stored objects", on: "repository", options: ["repo"] },
  stats: { words: "", help: "sizes and counts", on: "repository", options: ["repo"] },
  orders: {
    words: "",
    help: "wait for restores that are ordered onto this machine, and do them",
    on: "service",
    options: ["root", "allow-overwrite", "once", "threads"],
  },
  schedule: {
    words: "PATH…",
    help: "back up every day, by the scheduler of this system",
    on: "machine",
    options: [
      "source",
      "at",
      "with",
      "print",
      "remove",
      "include",
      "exclude",
      "exclude-file",
      "exclude-caches",
      "profile",
      "per-taxpayer",
    ],
  },
  doctor: { words: "", help: "look for the reason why a backup does not work", on: "machine", options: [] },
  completion: { words: "bash|zsh|fish", help: "print a completion script for a shell", on: "machine", options: [] },
  status: { words: "", help: "how this machine is signed in, and its last backups", on: "service", options: [] },
} as const satisfies Readonly<Record<string, VerbSpec>>;

export type VerbName = keyof typeof verbs;

export const verbNames = Object.keys(verbs) as VerbName[];

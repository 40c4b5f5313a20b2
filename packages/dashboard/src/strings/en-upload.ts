/** The texts of uploads by hand in English. */

import { count } from "../format.ts";
import type { trUpload } from "./tr-upload.ts";

export const enUpload: typeof trUpload = {
  open: "Upload by hand",
  title: "Upload files by hand",
  lead: "The files that you choose become a backup. For nightly backups connect a device.",
  vault: "Vault",
  source: "Name of the source",
  sourceHint: "Backups that are uploaded under the same name are versions of one source.",
  sourceDefault: (person) => `By hand, ${person}`,
  drop: "Drag files and folders here",
  dropOr: "or choose them:",
  pickFiles: "Choose files",
  pickFolder: "Choose a folder",
  chosen: (n, size) => `${count(n)} ${n === 1 ? "file" : "files"}, ${size}`,
  more: (n) => `and ${count(n)} more ${n === 1 ? "file" : "files"}`,
  clear: "Empty the list",
  none: "Choose files or a folder first",
  start: "Start the upload",
  unread: "What was dropped could not be read. Try the buttons.",
  sending: "Uploading",
  waiting: "Waiting for the connection; it goes on where it stopped",
  paused: "The upload has stopped",
  completing: "Completing",
  completed: "The backup is complete",
  canceled: "The upload was canceled",
  progress: (files, all, sent, size) => `${count(files)} of ${count(all)} files · ${sent} of ${size}`,
  stay: "Do not close this tab; you may open other screens.",
  resume: "Go on",
  cancel: "Cancel",
  cancelAsk: "Cancel the upload?",
  cancelDetail: "The files that were sent do not become a backup. The next upload sends them again.",
  keepOn: "Go on",
  show: "Open the backup",
  dismiss: "Close",
  left: (n: number, size: string) =>
    `An upload was left unfinished: ${count(n)} files, ${size}. Choose the same files and it goes on where it stopped.`,
  forget: "Forget it",
};

/** The files that a person dropped or picked, those of folders too, with their paths. */

import type { ChosenFile } from "../api/hand-upload.ts";

/** Of an input: a folder's files have their path below it. */
export function pickedFiles(list: FileList | null): ChosenFile[] {
  return [...(list ?? [])].map((file) => ({
    path: file.webkitRelativePath === "" ? file.name : file.webkitRelativePath,
    file,
  }));
}

/** Of a drop. The entries must be taken before anything is awaited: after the event they are gone. */
export async function droppedFiles({ items, files }: DataTransfer): Promise<ChosenFile[]> {
  const entries = [...items].filter(({ kind }) => kind === "file").map((item) => item.webkitGetAsEntry());
  const whole = pickedFiles(files);
  if (entries.some((entry) => entry === null)) return whole;
  const found = await Promise.all(entries.map((entry) => (entry === null ? [] : filesOf(entry))));
  return found.flat();
}

async function filesOf(entry: FileSystemEntry): Promise<ChosenFile[]> {
  if (isFile(entry)) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
    return [{ path: entry.fullPath.replace(/^\/+/, ""), file }];
  }
  if (!isFolder(entry)) return [];
  const reader = entry.createReader();
  const found: ChosenFile[] = [];
  for (;;) {
    // A browser gives the entries of a folder in parts; an empty one is the end.
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (part.length === 0) return found;
    for (const child of part) found.push(...(await filesOf(child)));
  }
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;
const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;

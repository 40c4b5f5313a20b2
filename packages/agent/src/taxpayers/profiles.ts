/**
 * What the accounting programs of offices leave beside the data that must be kept. A profile adds patterns to those of the command line.
 * Programs on Windows write names in any case, so these patterns match any case.
 */

import { usage } from "../failure.ts";

/** What no program needs back: files of editors, viewers and downloads that were not finished. */
const never = [
  "*.tmp",
  "~$*",
  "thumbs.db",
  "desktop.ini",
  "*.crdownload",
  "$recycle.bin/",
  "system volume information/",
];

/** Files of SQL Server that are open: their dumps are backed up, not they. */
const openSqlServer = ["*.mdf", "*.ndf", "*.ldf"];

const profiles = {
  /** Works in the browser; on disk there is only the tree of e-Defter packages. */
  luca: [...never],
  /** The e-Defter tree, with folders for helpers that are made again at every run. */
  zirve: [...never, "log/", "gecici/", "geçici/"],
  /** One SQL Server database for all firms: its dumps. */
  logo: [...never, ...openSqlServer, "log/"],
  /** One SQL Server database for each firm: their dumps. */
  mikro: [...never, ...openSqlServer],
  /** Firebird, one file for each firm and year. */
  wolvox: [...never, "*.fdb.lock", "fb_lock*", "fb_trace*"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export const profileNames = Object.keys(profiles) as readonly (keyof typeof profiles)[];

/** Patterns that a profile leaves out; none without a profile. */
export function profilePatterns(name: string | null): readonly string[] {
  if (name === null) return [];
  const known = profileNames.find((each) => each === name);
  if (known === undefined) throw usage(`--profile is one of ${profileNames.join(", ")}`);
  return profiles[known].map(anyCase);
}

/** `*.tmp` as `*.[tT][mM][pP]`. Turkish has two letters for each of i and I, and four belong together. */
function anyCase(pattern: string): string {
  return pattern.replaceAll(/\p{L}/gu, (letter) => {
    if (/[iıİI]/.test(letter)) return "[iIıİ]";
    const [lower, upper] = [letter.toLowerCase(), letter.toUpperCase()];
    return lower === upper || upper.length > 1 ? letter : `[${lower}${upper}]`;
  });
}

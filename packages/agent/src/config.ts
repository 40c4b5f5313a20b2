/**
 * What the agent takes from its environment. This is the only file that reads it.
 *
 * Folders follow the customs of each system: XDG on Linux, Library on macOS, AppData on Windows.
 */

import { homedir } from "node:os";
import path from "node:path";

export type Language = "tr" | "en";

export interface Environment {
  /** Where the service is, and how to sign in; these come before what `login` has stored. */
  readonly url: string | null;
  readonly caFile: string | null;
  readonly clientId: string | null;
  readonly clientSecret: string | null;
  /** Holds secrets: mode 0700. */
  readonly stateFolder: string;
  /** May be deleted at any time: the next backup reads every file again. */
  readonly cacheFolder: string;
  readonly language: Language;
  readonly platform: NodeJS.Platform;
  readonly home: string;
}

export type Variables = Readonly<Record<string, string | undefined>>;

export function readEnvironment(
  variables: Variables = process.env,
  platform: NodeJS.Platform = process.platform,
  home: string = homedir(),
): Environment {
  const text = (name: string) => (variables[name] === undefined || variables[name] === "" ? null : variables[name]);
  return {
    url: text("EMANET_URL"),
    caFile: text("EMANET_CA_FILE"),
    clientId: text("EMANET_CLIENT_ID"),
    clientSecret: text("EMANET_CLIENT_SECRET"),
    stateFolder: text("EMANET_STATE_DIR") ?? stateFolder(text, platform, home),
    cacheFolder: text("EMANET_CACHE_DIR") ?? cacheFolder(text, platform, home),
    language: languageOf(text),
    platform,
    home,
  };
}

type Read = (name: string) => string | null;

function stateFolder(text: Read, platform: NodeJS.Platform, home: string): string {
  if (platform === "win32") {
    const { join } = path.win32;
    return join(text("LOCALAPPDATA") ?? join(home, "AppData", "Local"), "Emanet");
  }
  if (platform === "darwin") return path.posix.join(home, "Library", "Application Support", "Emanet");
  return path.posix.join(text("XDG_CONFIG_HOME") ?? path.posix.join(home, ".config"), "emanet");
}

function cacheFolder(text: Read, platform: NodeJS.Platform, home: string): string {
  if (platform === "win32") return path.win32.join(stateFolder(text, platform, home), "Cache");
  if (platform === "darwin") return path.posix.join(home, "Library", "Caches", "Emanet");
  return path.posix.join(text("XDG_CACHE_HOME") ?? path.posix.join(home, ".cache"), "emanet");
}

/** The variables of POSIX, in their order. Everything that is not Turkish gets English. */
function languageOf(text: Read): Language {
  const locale = text("LC_ALL") ?? text("LC_MESSAGES") ?? text("LANG") ?? "";
  return /^tr(?:$|[_.@-])/i.test(locale) ? "tr" : "en";
}

/** What the application takes from the browser besides the page: the clock and what it remembers between visits. */

/** Milliseconds since 1970. */
export const now = (): number => Date.now();

type Remembered = "theme" | "language" | "session" | "keys" | "recent" | "upload" | "tried" | "started";

/** Choices of this browser. Never a token, never data of an account. Null also where the browser refuses storage. */
export function remembered(name: Remembered): string | null {
  try {
    return localStorage.getItem(`emanet.${name}`);
  } catch {
    return null;
  }
}

export function remember(name: Remembered, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`emanet.${name}`);
    else localStorage.setItem(`emanet.${name}`, value);
  } catch {
    // The choice holds until the page is closed.
  }
}

export const newKey = (): string => crypto.randomUUID();

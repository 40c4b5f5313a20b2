/**
 * The texts of the page. One language is loaded with the page; changing it loads the page again. A text that one language
 * lacks is a type error.
 */

import type { Strings } from "./tr.ts";

export type { Strings } from "./tr.ts";

export type PageLanguage = "tr" | "en";

export let t: Strings;

export const pageLanguage: PageLanguage = document.documentElement.lang === "en" ? "en" : "tr";

export async function loadStrings(): Promise<void> {
  t = pageLanguage === "en" ? (await import("./en.ts")).en : (await import("./tr.ts")).tr;
}

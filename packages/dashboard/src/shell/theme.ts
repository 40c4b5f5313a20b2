/** The theme of this browser: that of the system, light, or dark. */

import { observable } from "../observable.ts";
import { remember, remembered } from "../platform.ts";

export type Theme = "system" | "light" | "dark";

const stored = remembered("theme");

export const theme = observable<Theme>(stored === "light" || stored === "dark" ? stored : "system");

export function setTheme(next: Theme): void {
  theme.set(next);
  remember("theme", next === "system" ? null : next);
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
}

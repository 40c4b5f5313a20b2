/** The texts of the settings, loaded with them: the first screen needs none. */

import { pageLanguage } from "./index.ts";

export const s =
  pageLanguage === "en" ? (await import("./en-settings.ts")).enSettings : (await import("./tr-settings.ts")).trSettings;

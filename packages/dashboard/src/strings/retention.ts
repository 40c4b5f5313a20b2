/** The texts of retention and verification, loaded with their screen. */

import { pageLanguage } from "./index.ts";

export const r =
  pageLanguage === "en"
    ? (await import("./en-retention.ts")).enRetention
    : (await import("./tr-retention.ts")).trRetention;

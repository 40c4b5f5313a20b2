/** The texts of the staff's screen, loaded with it. */

import { pageLanguage } from "./index.ts";

export const f =
  pageLanguage === "en" ? (await import("./en-staff.ts")).enStaff : (await import("./tr-staff.ts")).trStaff;

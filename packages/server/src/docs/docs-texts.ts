/** The texts of the documentation pages themselves, in both languages. Guides are files in `guides/`. */

import type { Language } from "../kernel/problems.ts";

export const languages: readonly Language[] = ["tr", "en"];

/** Each language by its own name. */
export const languageNames: Readonly<Record<Language, string>> = { tr: "Türkçe", en: "English" };

// biome-ignore format: one text, one line, so that the file reads as a table
export const docsTexts = {
  title: { en: "Emanet API", tr: "Emanet API" },
  documentation: { en: "Documentation", tr: "Belgeler" },
  reference: { en: "Reference", tr: "API başvurusu" },
  errorCodes: { en: "Error codes", tr: "Hata kodları" },
  skip: { en: "Skip to the content", tr: "İçeriğe geç" },
  onThisPage: { en: "On this page", tr: "Bu sayfada" },
  needsScript: { en: "The reference needs JavaScript. The document itself is at", tr: "API başvurusu JavaScript gerektirir. Belgenin kendisi:" },
} as const satisfies Record<string, Readonly<Record<Language, string>>>;

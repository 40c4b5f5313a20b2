/**
 * Folding: one spelling for names that people take for the same. Case, accents, dots of Turkish letters (ı, i, İ, I), composed and
 * decomposed forms and characters that nothing is drawn for make no difference. Names that are not UTF-8 are folded as the text
 * that the API shows.
 */

/** Marks, and characters without a form of their own: joiners, directions, soft hyphens. */
const unseen = /[\p{M}\p{Cf}]/gu;

/** What stands for the other slashes of Unicode: they separate nothing. */
const otherSlash = "\u2215";

/**
 * Folds a name, or a part of one. The letters of a part are folded as they are in the name: no letter is folded by what stands beside
 * it.
 */
export function fold(name: string): string {
  const lower = name.normalize("NFKD").toLowerCase().normalize("NFKD");
  return lower.replaceAll(unseen, "").replaceAll("ı", "i").replaceAll("ς", "σ").replaceAll("/", otherSlash);
}

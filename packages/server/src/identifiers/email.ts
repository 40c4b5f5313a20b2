/** E-mail addresses: kept as people write them, compared by a folded form. */

/**
 * The form to compare by. Only A–Z are folded, by code point: with a locale's rules `I` would become `ı` on a Turkish
 * machine and the same address two people.
 */
export function foldEmail(email: string): string {
  return email.normalize("NFC").replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

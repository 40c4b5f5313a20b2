/**
 * Identifiers of people and firms in Turkey: tax numbers, phones, e-mail addresses. Pure functions, no tables.
 * Each has one canonical form, and that is what gets stored and compared.
 */

export { foldEmail } from "./email.ts";
export { normalizeMobile } from "./phone.ts";
export { isTaxId } from "./tax-id.ts";

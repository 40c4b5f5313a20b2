/**
 * Taxpayers: the clients of an accounting office, known by their VKN or TCKN. Owns the table `taxpayers`.
 *
 * Invariants: a tax number occurs once in an account (another account may have it too); a taxpayer has a vault of its own
 * from its beginning, keeps it, and is deleted with it; the tax number never changes and is shown masked.
 */

export { taxpayerShape } from "./shapes.ts";
export { deleteTaxpayer, findTaxpayer, type TaxpayerRow } from "./store.ts";

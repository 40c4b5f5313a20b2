/**
 * Reports for people: how the nights of the last weeks were, how much is stored, and the export of an account. Owns the table `vault_usage`. A day is a day in
 * Istanbul.
 *
 * Invariant: a night is never shown better than it was. What failed or did not come is shown, whatever else the day had.
 */

export { reportRecurrences } from "./jobs.ts";

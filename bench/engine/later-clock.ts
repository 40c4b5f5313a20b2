/**
 * Loaded before a program with `--import`: its clock is a minute ahead. Nights are hours apart, and the file cache does not take a
 * file that changed less than 35 s ago (docs/decisions/0132). Waiting for that in each of hundreds of nights would take hours.
 */

/** More than those 35 s. */
const aheadMs = 60_000;
const now = Date.now.bind(Date);
Date.now = () => now() + aheadMs;

/**
 * The web application of `packages/dashboard`, served from the service's own origin: one page for every address of it, and
 * the files that the page loads. Owns no table.
 *
 * Invariants
 * - The page is the same for everyone and holds no data. It gets data like any other client of the API.
 * - The page may run our scripts only, loads nothing from another origin, and cannot be framed. Text never becomes code:
 *   `require-trusted-types-for 'script'` with no policy at all.
 * - Names of files contain a hash of their content, so they may be kept for ever. The page itself is never stored.
 */

export { builtDashboard, type DashboardFile, type DashboardFiles } from "./built-files.ts";

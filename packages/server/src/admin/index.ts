/**
 * What staff of the platform see across all domains: the overview, the jobs, the snapshots. Owns no table. What staff
 * do to an account, an application, a member or a limit is in the domain that owns it; the operations are all under
 * `/v1/admin`. A check before the router (`kernel/http/refusals.ts`) refuses everybody else there with one answer, so it
 * does not tell which addresses exist.
 *
 * Invariant: nothing here shows file names or content.
 */

/**
 * What one process of the service is for: `api` answers requests, `worker` runs jobs, `all` does both, `migrate` brings
 * the database up to date and ends.
 */

export const roles = ["all", "api", "worker", "migrate"] as const;
export type Role = (typeof roles)[number];

export function isRole(word: string): word is Role {
  return roles.some((role) => role === word);
}

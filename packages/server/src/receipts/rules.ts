/** When the next key is made. */

/** Long, because verifiers keep keys; not for ever, because a stolen key signs false receipts until it is replaced. */
export const keyLifeMs = 365 * 24 * 60 * 60 * 1000;

export function isDue(createdAt: Date, now: Date): boolean {
  return now.getTime() - createdAt.getTime() >= keyLifeMs;
}

/** Decides when a signing key is due. Pure. */

/** A quarter: rotations are rare, but frequent enough that a broken rotation is noticed. */
const rotationPeriodMs = 90 * 24 * 60 * 60 * 1000;

/** A new key is published this long before it signs, so that clients that cache our keys have it by then. */
const announcementMs = 60 * 60 * 1000;

/** Four lifetimes of an access token: by then all tokens of an old key have expired. */
const overlapMs = 60 * 60 * 1000;

/** Allowed clock difference of two processes: a key that another process has just made is usable. */
const clockSkewMs = 60_000;

export type RotationPlan =
  | { readonly kind: "keep" }
  | { readonly kind: "make"; readonly activeAt: Date; readonly othersExpireAt: Date };

/** The next action for the given valid keys, in any order. */
export function planRotation(keys: readonly { created_at: Date; active_at: Date }[], now: Date): RotationPlan {
  const usable = keys.some((key) => key.active_at.getTime() <= now.getTime() + clockSkewMs);
  const newest = Math.max(...keys.map((key) => key.created_at.getTime()));
  if (usable && now.getTime() - newest < rotationPeriodMs) return { kind: "keep" };
  // Without a key that can sign, no client has cached keys, so the first key signs at once.
  const activeAt = usable ? new Date(now.getTime() + announcementMs) : now;
  return { kind: "make", activeAt, othersExpireAt: new Date(activeAt.getTime() + overlapMs) };
}

/** When a signing key is due: pure. */

/** A quarter: long enough that a rotation is rare, short enough that the way it works stays exercised. */
const rotationPeriodMs = 90 * 24 * 60 * 60 * 1000;

/** A new key is published this long before it signs, so that whoever caches our keys has it by then. */
const announcementMs = 60 * 60 * 1000;

/** Four lifetimes of an access token: by then nothing that an old key signed is valid any more. */
const overlapMs = 60 * 60 * 1000;

/** What the clocks of two processes may differ by: a key that another one has just made counts as usable. */
const clockSkewMs = 60_000;

export type RotationPlan =
  | { readonly kind: "keep" }
  | { readonly kind: "make"; readonly activeAt: Date; readonly othersExpireAt: Date };

/** What to do, given the keys that are alive, in any order. */
export function planRotation(keys: readonly { created_at: Date; active_at: Date }[], now: Date): RotationPlan {
  const usable = keys.some((key) => key.active_at.getTime() <= now.getTime() + clockSkewMs);
  const newest = Math.max(...keys.map((key) => key.created_at.getTime()));
  if (usable && now.getTime() - newest < rotationPeriodMs) return { kind: "keep" };
  // Without a key that can sign there is nobody to announce anything to.
  const activeAt = usable ? new Date(now.getTime() + announcementMs) : now;
  return { kind: "make", activeAt, othersExpireAt: new Date(activeAt.getTime() + overlapMs) };
}

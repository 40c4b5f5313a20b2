/** When a vault needs which step of upkeep. Pure. */

const dayMs = 24 * 60 * 60 * 1000;

/** The contract's: every stored byte is read once in so many days. A slice is what one day reads. */
export const scrubDays = 30;

/** Names of packs are random, so slices are of about the same size. */
export function sliceOf(pack: string): number {
  return (Number.parseInt(pack.slice(0, 8), 16) || 0) % scrubDays;
}

/** How many slices a run reads: one a day, and those of days without a run. */
export function slicesDue(scrubbedAt: Date | null, now: Date): number {
  if (scrubbedAt === null) return 1;
  return Math.min(scrubDays, Math.floor((now.getTime() - scrubbedAt.getTime()) / dayMs));
}

/** Whether a slice is among so many from `first` on, round and round. */
export function isAmong(slice: number, first: number, count: number): boolean {
  return (slice - first + scrubDays) % scrubDays < count;
}

/** Once a day at most, and only if something was stored or removed since. */
export function isRepackDue(repackedAt: Date | null, changedAt: Date | null, now: Date): boolean {
  if (changedAt === null) return false;
  if (repackedAt === null) return true;
  return changedAt > repackedAt && now.getTime() - repackedAt.getTime() >= dayMs;
}

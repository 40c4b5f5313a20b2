/** Lengths of segments and stripes. They are apart from the cutter, because loading the cutter compiles it. */

/** Every segment costs an item and a recipe. Shorter segments would cost more than they deduplicate. */
export const minSegmentBytes = 256 * 1024;

/** A cutting buffer holds two of the longest (`workerBufferBytes`), so this bounds the memory of a cutting thread. */
export const maxSegmentBytes = 4 * 1024 * 1024;

/**
 * A stripe of a large file. Several stripes per large file keep every core busy. After an insertion, one segment per
 * stripe no longer matches. So stripes are large.
 */
export const stripeBytes = 64 * 1024 * 1024;

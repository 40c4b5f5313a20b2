/** How long segments are: known without the cutter, whose loading compiles it. */

/** Every segment costs an item and a recipe: shorter ones would cost more than they find again. */
export const minSegmentBytes = 256 * 1024;

/** Cutting buffers hold two of the longest (`workerBufferBytes`), so this bounds the memory of a cutting thread. */
export const maxSegmentBytes = 4 * 1024 * 1024;

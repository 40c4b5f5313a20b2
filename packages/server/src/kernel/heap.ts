/** How V8 keeps the objects of requests, and Node their small buffers. */

import { setFlagsFromString } from "node:v8";

/**
 * V8 counts which places in the code make objects that live long, and then makes the objects of these places in the old part
 * of the heap. Under load those are objects of requests. They are dead a millisecond later, but stay until the next full
 * collection, and so does all that they refer to: measured after 80 000 reads, a collection of young objects kept 6 MB in place
 * of 0.2 MB and took 5 ms in place of 0.7 ms (record 0560). Objects that really live long reach the old part anyway.
 */
export function keepRequestsYoung(): void {
  setFlagsFromString("--no-allocation-site-pretenuring");
}

/**
 * V8 begins a full collection each time buffers of some megabytes were made since the last one, also if they are dead already and the next collection of
 * young objects frees them. While packs come or go that was one every 350 ms, and a third of the service's CPU time. With this the buffers count like
 * the rest of the heap, which may grow by a share of its size before a full collection (docs/decisions/0645).
 */
export function countBuffersAsHeap(): void {
  setFlagsFromString("--external-memory-accounted-in-global-limit");
}

/** As Node had it for years. */
const bufferPoolBytes = 8 * 1024;

/**
 * Node cuts small buffers from a pool of 64 KiB, and one that is kept keeps the whole pool in memory. Ids, nodes and keys in caches of the service kept 150 MB
 * of pools after 850 snapshots (docs/decisions/0651).
 */
export function keepBufferPoolsSmall(): void {
  Buffer.poolSize = bufferPoolBytes;
}

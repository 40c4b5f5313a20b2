/** The part of the engine's face that restores. Who needs no more loads no more. */

export { restoreSnapshot } from "../restore/restore.ts";
export { WritePool } from "../restore/write-pool.ts";

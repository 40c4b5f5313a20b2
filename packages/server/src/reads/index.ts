/**
 * The read protocol (docs/PROTOCOL.md, section 6): clients read a snapshot as sealed frames and open them themselves, which is faster than
 * a download and keeps the work off the service. Owns no table.
 *
 * Invariants: a client gets the keys of frames that items of its snapshot need, one by one, and no key of a session; who may read the
 * snapshot is looked up at each call; every call may be repeated, by any process.
 */

export { packReply } from "./pack-reply.ts";
export { answerMessage, messageSpec } from "./read-message.ts";
export { deadlineMs, openReadable, type ReadableSnapshot, readable, readType } from "./readable-snapshot.ts";

/**
 * Memory for bodies that the application has not read. HTTP/1.1 stops reading from a client when the application is behind; over
 * HTTP/2 every stream has been granted a whole window in advance, so many streams on many sessions can fill memory
 * without breaking any rule of the protocol. Above the limit the sessions that hold most are ended, largest first.
 */

/** A session and the bytes it holds. */
export interface Holding<Session> {
  readonly session: Session;
  readonly bytes: number;
}

/** Which sessions to end so that the rest is within the limit. */
export function planCuts<Session>(holdings: readonly Holding<Session>[], limitBytes: number): Session[] {
  const cuts: Session[] = [];
  let total = holdings.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { session, bytes } of holdings.toSorted((a, b) => b.bytes - a.bytes)) {
    if (total <= limitBytes) break;
    cuts.push(session);
    total -= bytes;
  }
  return cuts;
}

/** The sessions that a rebuild has found: their headers, their claims, and the next free number. */

import { readClaim } from "../catalog/claim-session.ts";
import { FormatError, hex, sameBytes } from "../format/bytes.ts";
import { lastPart } from "../format/object-names.ts";
import type { SessionHeader } from "../format/session-header.ts";
import { maxSession } from "../format/session-header.ts";
import type { ReadableVault } from "../vault.ts";
import type { Refusals } from "./rebuild-refusals.ts";

/**
 * A claim may be lost, so a session without one is accepted. A writer may sign any number, and the next number is above all that
 * are found: one this far above every claim is refused. More than a vault of a backup per minute has in thirty years.
 */
const maxUnclaimedSessions = 2 ** 24;

export class KnownSessions {
  readonly #vault: ReadableVault;
  readonly #headers = new Map<number, SessionHeader>();
  readonly #claims = new Map<number, Awaited<ReturnType<typeof readClaim>>>();
  #next = 1;
  #highestClaim = 0;

  constructor(vault: ReadableVault) {
    this.#vault = vault;
  }

  /** One more than the highest session number that was found. */
  get next(): number {
    return this.#next;
  }

  header(session: number): SessionHeader | undefined {
    return this.#headers.get(session);
  }

  /**
   * Throws `FormatError` if the store has a claim of this number with another nonce. A writer may sign any number, so the
   * claim decides which of two sessions is right.
   */
  async assertClaimed({ session, nonce }: SessionHeader): Promise<void> {
    const claim = this.#claims.get(session) ?? (await readClaim(this.#vault, session));
    this.#claims.set(session, claim);
    if (claim === "absent" && session > this.#highestClaim + maxUnclaimedSessions)
      throw new FormatError(`of session ${session}, which no catalog can have issued`);
    if (typeof claim === "number" && claim !== nonce)
      throw new FormatError(`of session ${session}, which the store has as another session`);
  }

  /** Throws `FormatError` if the writer was revoked before this session. */
  assertNotRevoked({ writerId, session }: SessionHeader, revoked: ReadonlyMap<string, number>): void {
    if (session >= (revoked.get(hex(writerId)) ?? Number.POSITIVE_INFINITY))
      throw new FormatError(`of session ${session}, whose writer was revoked before it`);
  }

  /** Whether no other header with this number was found. */
  isSameSession(header: SessionHeader): boolean {
    return sameBytes((this.#headers.get(header.session) ?? header).bytes, header.bytes);
  }

  /** Adds the session of a pack. */
  add(header: SessionHeader): void {
    if (!this.#headers.has(header.session)) this.#headers.set(header.session, header);
    this.addNumber(header.session);
  }

  addNumber(session: number): void {
    this.#next = Math.max(this.#next, session + 1);
  }

  /** Reads the names of all claims. A claimed number is used, also where nothing of its session is left. */
  async readClaims(refusals: Refusals): Promise<void> {
    const { store, names } = this.#vault;
    for await (const { name } of store.list(names.sessions)) {
      const session = Number(lastPart(name));
      if (Number.isSafeInteger(session) && name === names.session(session) && session < maxSession) {
        this.addNumber(session);
        this.#highestClaim = Math.max(this.#highestClaim, session);
      } else refusals.add(name, "not a claim of a session");
    }
  }
}

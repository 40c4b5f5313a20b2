/**
 * The clock and the random bytes of the engine. The caller passes both in, so that tests are repeatable and the service
 * decides the time.
 *
 * One exception: Node's ML-KEM encapsulation takes its random bytes from OpenSSL and accepts no seed.
 */

export interface EngineContext {
  /** Milliseconds since 1970, UTC. */
  now(): number;
  /** `length` unpredictable bytes. */
  random(length: number): Uint8Array;
}

/**
 * What the engine may not have of its own: a clock and a source of randomness. Whoever calls it brings both, so that a
 * test is repeatable and the service's clock decides.
 *
 * One exception is outside our hands: Node's ML-KEM encapsulation draws from OpenSSL's generator and takes no seed.
 */

export interface EngineContext {
  /** Milliseconds since 1970, UTC. */
  now(): number;
  /** `length` unpredictable bytes. */
  random(length: number): Uint8Array;
}

/**
 * Estimates by the entropy of a sample whether bytes compress. Scans, archives and encrypted files do not. A wrong
 * estimate costs space or time, never correctness.
 */

/** Bytes of a sample. Shorter input than the minimum counts as compressible. */
const sampleBytes = 1024;
const minSampleBytes = 512;

/** Bits per byte by which the entropy may be below that of random bytes. Base64 is 1.8 below. */
const entropyMargin = 0.3;

/** count × log2(count) for every count that a sample can have. Computing the logarithms would be most of the work. */
const weights = Float64Array.from({ length: sampleBytes + 1 }, (_, count) =>
  count === 0 ? 0 : count * Math.log2(count),
);

/** Reused by every call. */
const counts = new Uint32Array(256);

/** Whether a sample of the bytes looks random. The sample is taken from the middle, or from `at` on. */
export function isIncompressible(
  bytes: Uint8Array,
  at = (bytes.length - Math.min(sampleBytes, bytes.length)) >> 1,
): boolean {
  if (bytes.length < minSampleBytes) return false;
  const length = Math.min(sampleBytes, bytes.length - at);
  counts.fill(0);
  for (let i = at; i < at + length; i++) {
    const byte = bytes[i] ?? 0;
    counts[byte] = (counts[byte] ?? 0) + 1;
  }
  let weight = 0;
  for (let value = 0; value < counts.length; value++) weight += weights[counts[value] ?? 0] ?? 0;
  const bits = Math.log2(length) - weight / length;
  // The entropy that a sample of this size of uniformly random bytes shows (Miller's correction).
  const random = 8 - 255 / (2 * length * Math.LN2);
  return bits > random - entropyMargin;
}

/** Samples of a whole frame. */
const samplesPerFrame = 3;

/** Whether all of a few samples, spread over the bytes, look random. */
export function areAllSamplesIncompressible(bytes: Uint8Array): boolean {
  const span = Math.max(0, bytes.length - sampleBytes);
  for (let i = 0; i < samplesPerFrame; i++) {
    if (!isIncompressible(bytes, Math.floor((span * i) / (samplesPerFrame - 1)))) return false;
  }
  return true;
}

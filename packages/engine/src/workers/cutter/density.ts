/**
 * Tells bytes that will not compress (scans, archives, whatever is encrypted) from others by the entropy of a sample. A
 * wrong guess costs space or time, never correctness.
 */

/** Bytes looked at to tell compressible from dense. */
const sampleBytes = 1024;
const minSampleBytes = 512;

/** How far below a random sample's entropy, in bits per byte, bytes still count as dense. Base64 is 1.8 below. */
const denseMargin = 0.3;

/** count × log2(count) of every count that a sample can have: a logarithm per byte value is most of the work. */
const weights = Float64Array.from({ length: sampleBytes + 1 }, (_, count) =>
  count === 0 ? 0 : count * Math.log2(count),
);

/** Used again by every call. */
const counts = new Uint32Array(256);

/** Whether the bytes look random: the entropy of a sample, by default from the middle. */
export function isDense(bytes: Uint8Array, at = (bytes.length - Math.min(sampleBytes, bytes.length)) >> 1): boolean {
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
  // What uniformly random bytes measure in a sample of this size (Miller's correction).
  const random = 8 - 255 / (2 * length * Math.LN2);
  return bits > random - denseMargin;
}

/** Places of a frame that are looked at. */
const samplesOfMany = 3;

/** Whether none of a few samples, spread over the bytes, promises anything. */
export function isDenseAllOver(bytes: Uint8Array): boolean {
  const room = Math.max(0, bytes.length - sampleBytes);
  for (let i = 0; i < samplesOfMany; i++) {
    if (!isDense(bytes, Math.floor((room * i) / (samplesOfMany - 1)))) return false;
  }
  return true;
}

/**
 * Arrays as parameters of statements, in PostgreSQL's binary form: half the time of the text that `pg` makes of an array.
 * A `Buffer` travels as binary, so the statement must say the type: `${bigints(ordinals)}::bigint[]`.
 */

const byteaOid = 17;
const bigintOid = 20;

/** Dimensions, "has no null", the type of the elements; for one dimension its length and the first index. */
const headerBytes = 20;
const lengthBytes = 4;
const bigintBytes = 8;

/** For `bigint[]`. Numbers without a sign, as the hooks of blocks, become those with the same bits. */
export function bigints(values: Iterable<number | bigint>): Buffer {
  const list = [...values];
  const out = Buffer.allocUnsafe(headerBytes + list.length * (lengthBytes + bigintBytes));
  let at = writeHeader(out, bigintOid, list.length);
  for (const value of list) {
    at = out.writeInt32BE(bigintBytes, at);
    at = out.writeBigInt64BE(BigInt.asIntN(64, BigInt(value)), at);
  }
  return out;
}

/** For `bytea[]`. */
export function byteas(values: readonly Uint8Array[]): Buffer {
  const bytes = values.reduce((sum, value) => sum + lengthBytes + value.length, headerBytes);
  const out = Buffer.allocUnsafe(bytes);
  let at = writeHeader(out, byteaOid, values.length);
  for (const value of values) {
    at = out.writeInt32BE(value.length, at);
    out.set(value, at);
    at += value.length;
  }
  return out;
}

function writeHeader(out: Buffer, elementOid: number, length: number): number {
  for (const [i, value] of [1, 0, elementOid, length, 1].entries()) out.writeInt32BE(value, i * lengthBytes);
  return headerBytes;
}

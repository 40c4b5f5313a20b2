import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { seededRandom } from "../testing/seeded-random.ts";
import { type PackInMemory, PackMemory, packMemoryBytes, packMemoryBytesPerAccount } from "./pack-memory.ts";

const mebibyte = 1024 * 1024;

async function contentOf(pack: PackInMemory): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(pack.chunks()));
}

function take(memory: PackMemory, size: number, account = "one"): PackInMemory {
  return memory.take(account, size) ?? assert.fail("no place");
}

test("packs of all sizes are read back byte for byte, while others are filled from chunks of all sizes", async () => {
  const random = seededRandom(648);
  const memory = new PackMemory();
  for (let round = 0; round < 5; round++) {
    const packs = [1, 262_143, 262_144, 262_145, 3_000_001].map((size) => {
      const bytes = createHash("shake256", { outputLength: size }).update(`${round} ${size}`).digest();
      return { bytes, pack: take(memory, size), at: 0 };
    });
    for (let open = packs; open.length > 0; open = open.filter(({ at, bytes }) => at < bytes.length))
      for (const each of open) {
        const chunk = Buffer.from(each.bytes.subarray(each.at, each.at + 1 + random.integer(300_000)));
        each.pack.append(chunk);
        each.at += chunk.length;
        // The chunk is the transport's again.
        chunk.fill(0);
      }
    for (const { bytes, pack } of packs) {
      assert.ok((await contentOf(pack)).equals(bytes), `${bytes.length} bytes`);
      pack.release(true);
    }
    assert.equal(memory.takenBytes, 0);
  }
});

test("there is no place beyond the limit, and there is one again when a pack is released", () => {
  const memory = new PackMemory(8 * mebibyte, 8 * mebibyte);
  const first = take(memory, 6 * mebibyte);
  assert.equal(memory.take("one", 2 * mebibyte + 1), null);
  const second = take(memory, 2 * mebibyte);
  assert.equal(memory.take("one", 1), null);
  first.release(false);
  take(memory, 6 * mebibyte).release(true);
  second.release(true);
  assert.equal(memory.takenBytes, 0);
});

test("one account takes half of the memory at most, however many packs it sends; the other half is for others", () => {
  assert.equal(packMemoryBytesPerAccount, 32 * mebibyte);
  const memory = new PackMemory();
  assert.equal(memory.take("one", 32 * mebibyte + 1), null);
  const packs = [8, 8, 8, 8].map((size) => take(memory, size * mebibyte));
  assert.equal(memory.take("one", 1), null);
  const other = take(memory, 32 * mebibyte, "another");
  assert.equal(memory.take("third", 1), null, "all of it is taken");
  packs[0]?.release(true);
  take(memory, 8 * mebibyte).release(true);
  take(memory, 8 * mebibyte, "third").release(true);
  for (const each of [...packs.slice(1), other]) each.release(false);
  assert.equal(memory.takenBytes, 0);
  take(memory, 32 * mebibyte).release(true);
});

test("a pack does not become longer than its place", () => {
  const pack = take(new PackMemory(), 10);
  pack.append(Buffer.alloc(10));
  assert.throws(() => pack.append(Buffer.alloc(1)), RangeError);
});

test("pieces that a failed write may still read are not given to another pack; those of a stored one are", async () => {
  const memory = new PackMemory();
  // The pieces are kept as long as some pack has a place.
  const other = take(memory, 1);
  for (const stored of [false, true]) {
    const pack = take(memory, 1000);
    pack.append(Buffer.alloc(1000, "a"));
    const [read] = await Array.fromAsync(pack.chunks());
    pack.release(stored);
    const next = take(memory, 1000);
    next.append(Buffer.alloc(1000, "b"));
    assert.equal(read?.toString(), (stored ? "b" : "a").repeat(1000));
    next.release(false);
  }
  other.release(true);
});

test("a pack takes whole pieces; without packs none are kept; the limit is 64 MiB", async () => {
  assert.equal(packMemoryBytes, 64 * mebibyte);
  const piece = mebibyte / 4;
  const memory = new PackMemory(4 * piece, 4 * piece);
  const [first, second] = [await filled(memory, piece), await filled(memory, piece)];
  assert.notEqual(first, second);
  const small = [1, 2, 3, 4].map(() => take(memory, 1));
  assert.equal(memory.take("one", 1), null);
  for (const each of small) each.release(true);
});

/** Takes the only place, and returns the memory it had. */
async function filled(memory: PackMemory, size: number): Promise<ArrayBufferLike | undefined> {
  const pack = take(memory, size);
  pack.append(Buffer.alloc(size));
  const [piece] = await Array.fromAsync(pack.chunks());
  pack.release(true);
  return piece?.buffer;
}

test("who reads on after the release gets an error, not a shorter pack", async () => {
  const pack = take(new PackMemory(), 600_000);
  pack.append(Buffer.alloc(600_000));
  const reader = pack.chunks();
  await reader.next();
  pack.release(false);
  await assert.rejects(reader.next(), /released/);
});

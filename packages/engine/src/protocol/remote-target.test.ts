import assert from "node:assert/strict";
import { test } from "node:test";
import { CatalogError } from "../catalog/catalog.ts";
import { IncompleteCatalogError } from "../catalog/claim-session.ts";
import { OutdatedKeysError } from "../catalog/outdated-keys.ts";
import { FormatError } from "../format/bytes.ts";
import { doneAnswer, maxRequestBytes } from "./message.ts";
import { AnswerLostError, errorOfRefusal, refusalOf, refusalReasons } from "./refusal.ts";
import type { UploadCall } from "./remote-target.ts";
import { RemoteTarget } from "./remote-target.ts";
import { encodeOrdinals } from "./start-messages.ts";

const packName = "0a".repeat(16);

/** A target whose first calls fail with these errors; the pauses before the others. */
function failing(errors: readonly Error[], answer: Uint8Array = doneAnswer("renew")) {
  const calls: UploadCall[] = [];
  const pauses: number[] = [];
  const target = new RemoteTarget({
    ctx: { random: () => Uint8Array.of(255) },
    call: async (request) => {
      calls.push(request);
      const error = errors[calls.length - 1];
      if (error !== undefined) throw error;
      return answer;
    },
    pause: async (ms) => {
      pauses.push(ms);
    },
  });
  return { target, calls, pauses };
}

const lost = (retryAfterMs: number | null = null) => new AnswerLostError("the connection ended", { retryAfterMs });

test("a lost answer: the same request again, after pauses that grow and obey the service", async () => {
  const { target, calls, pauses } = failing([lost(), lost(), lost(5000), lost()]);
  await target.renew();
  assert.equal(calls.length, 5);
  assert.ok(calls.every((call) => call === calls[0]));
  assert.deepEqual(pauses, [500, 1000, 5000, 4000]);
});

test("a call is told whether it was sent before: a pack that is sent again may wait until the service asks for it", async () => {
  const told: boolean[] = [];
  const target = new RemoteTarget({
    ctx: { random: () => Uint8Array.of(0) },
    pause: async () => {},
    call: async (_request, isRepeated) => {
      told.push(isRepeated);
      if (told.length % 3 !== 0) throw lost();
      return doneAnswer("renew");
    },
  });
  await target.renew();
  await target.renew();
  assert.deepEqual(told, [false, true, true, false, true, true]);
});

test("a service that stays away: ten attempts, then the error", async () => {
  const { target, calls, pauses } = failing(Array.from({ length: 20 }, () => lost()));
  await assert.rejects(target.renew(), AnswerLostError);
  assert.equal(calls.length, 10);
  assert.equal(Math.max(...pauses), 60_000);
});

test("a refusal and any other error are not repeated", async () => {
  for (const error of [new CatalogError("lease_expired", "u"), new FormatError("no"), new TypeError("a bug")]) {
    const { target, calls } = failing([error]);
    await assert.rejects(target.renew(), error);
    assert.equal(calls.length, 1);
  }
});

test("a pack is sent again whole, also if the chunks of its body are overwritten", async () => {
  const seen: string[] = [];
  const target = new RemoteTarget({
    ctx: { random: () => Uint8Array.of(0) },
    pause: async () => {},
    call: async (request) => {
      assert.ok(request.operation === "pack");
      const chunks: Uint8Array[] = [];
      for await (const chunk of request.chunks()) chunks.push(chunk);
      seen.push(`${request.size} ${Buffer.concat(chunks)}`);
      if (seen.length === 1) throw lost();
      return doneAnswer("pack");
    },
  });
  async function* reused() {
    const chunk = Buffer.alloc(3);
    for (const text of ["one", "two", "six"]) {
      chunk.write(text);
      yield chunk;
    }
  }
  await target.putPack(packName, reused());
  assert.deepEqual(seen, ["9 onetwosix", "9 onetwosix"]);
});

test("a large pack goes to the spool, whole and in order, and is removed from it, also if it is refused; without space it stays in memory", async () => {
  const body = async function* () {
    const chunk = Buffer.alloc(300_000);
    for (let i = 1; i <= 8; i++) yield chunk.fill(i);
  };
  const expected = Buffer.concat(await Array.fromAsync(body(), (chunk) => Buffer.from(chunk)));
  for (const end of ["stored", "refused", "no space"]) {
    const spooled: Buffer[] = [];
    let [removed, attempts] = [0, 0];
    const target = new RemoteTarget({
      ctx: { random: () => Uint8Array.of(0) },
      pause: async () => {},
      spool: async () =>
        end === "no space"
          ? null
          : {
              write: async (chunk) => void spooled.push(Buffer.from(chunk)),
              chunks: async function* () {
                yield* spooled;
              },
              remove: async () => void removed++,
            },
      call: async (request) => {
        assert.ok(request.operation === "pack");
        assert.ok(Buffer.concat(await Array.fromAsync(request.chunks())).equals(expected));
        if (++attempts === 1) throw lost();
        if (end === "refused") throw new CatalogError("lease_expired", "u");
        return doneAnswer("pack");
      },
    });
    const put = target.putPack(packName, body());
    await (end === "refused" ? assert.rejects(put, CatalogError) : put);
    assert.deepEqual([attempts, removed, spooled.length > 0], end === "no space" ? [2, 0, false] : [2, 1, true], end);
  }
});

test("the memory of a pack that was stored is used again, that of a failed one is not: a connection may still read it", async () => {
  for (const fails of [false, true]) {
    const seen: Uint8Array[] = [];
    const target = new RemoteTarget({
      ctx: { random: () => Uint8Array.of(0) },
      call: async (request) => {
        assert.ok(request.operation === "pack");
        seen.push((await Array.fromAsync(request.chunks()))[0] ?? assert.fail("no chunk"));
        if (fails && seen.length === 1) throw new CatalogError("lease_expired", "u");
        return doneAnswer("pack");
      },
    });
    const body = async function* () {
      yield Buffer.alloc(1000, seen.length);
    };
    const first = target.putPack(packName, body());
    await (fails ? assert.rejects(first, CatalogError) : first);
    await target.putPack(packName, body());
    assert.equal(seen[0]?.buffer === seen[1]?.buffer, !fails);
  }
});

test("a small pack needs no spool", async () => {
  const target = new RemoteTarget({
    ctx: { random: () => Uint8Array.of(0) },
    spool: () => assert.fail("a spool"),
    call: async () => doneAnswer("pack"),
  });
  await target.putPack(
    packName,
    (async function* () {
      yield Buffer.alloc(1024 * 1024);
    })(),
  );
});

test("a pack or a request beyond the limit and a name that is no pack's are not sent", async () => {
  const { target, calls } = failing([]);
  async function* large() {
    const chunk = Buffer.alloc(1024 * 1024);
    for (let sent = 0; sent <= maxRequestBytes.pack; sent += chunk.length) yield chunk;
  }
  await assert.rejects(target.putPack(packName, large()), /a pack is too long/);
  async function* small() {
    yield Buffer.alloc(9);
  }
  for (const name of ["../x", "", packName.toUpperCase()])
    await assert.rejects(target.putPack(name, small()), FormatError, name);
  const nodes = Array.from({ length: 5000 }, () => Buffer.alloc(32));
  await assert.rejects(target.offerNodes(nodes), /the request nodes is too long/);
  assert.equal(calls.length, 0);
});

test("an answer with another number of ordinals is refused", async () => {
  const { target } = failing([], encodeOrdinals({ first: 5, end: 7 }));
  await assert.rejects(target.reserveOrdinals(1, 3), FormatError);
});

test("every reason becomes the error that a local target throws, and back", () => {
  for (const reason of refusalReasons) assert.equal(refusalOf(errorOfRefusal({ reason, detail: "d" }))?.reason, reason);
  assert.equal(refusalOf(new IncompleteCatalogError("d"))?.reason, "stale");
  assert.ok(errorOfRefusal({ reason: "outdated_keys", detail: "d" }) instanceof OutdatedKeysError);
  assert.equal(refusalOf(new CatalogError("retained", "d")), null, "no answer of the upload port");
  assert.equal(refusalOf(new Error("a fault")), null);
});

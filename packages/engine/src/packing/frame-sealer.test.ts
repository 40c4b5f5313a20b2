import assert from "node:assert/strict";
import { test } from "node:test";
import { FormatError, sameBytes } from "../format/bytes.ts";
import { openFrame, readFrameHeader } from "../format/frame.ts";
import { frameKey } from "../format/session-header.ts";
import { FrameSealer } from "./frame-sealer.ts";

const contentKey = Buffer.alloc(32, 1);
const binding = Buffer.alloc(32, 2);
const sealerOf = (worker: number) => new FrameSealer({ session: 1, worker, contentKey, binding });

for (const kind of ["data", "meta"] as const)
  test(`a ${kind} frame that is sealed twice, or by two workers, gets another key each time: no nonce is used twice`, () => {
    const plain = Buffer.from("the same bytes under the same number");
    const [one, two] = [sealerOf(1), sealerOf(2)];
    const sealed = [one, one, two].map((sealer) => sealer.seal(kind, 16777217, 0, plain, "none"));
    const keys = sealed.map((bytes) => frameKey(contentKey, readFrameHeader(bytes)));
    for (const [i, bytes] of sealed.entries())
      for (const [k, key] of keys.entries()) {
        if (i === k) assert.ok(sameBytes(openFrame(bytes, key, binding), plain));
        else assert.throws(() => openFrame(bytes, key, binding), FormatError, `frame ${i} opens with key ${k}`);
      }
  });

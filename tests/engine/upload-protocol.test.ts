/** The upload protocol between a client and a service: the conformance suite of the upload port through its messages. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import type { UploadCall, UploadTarget } from "@emanet/engine";
import {
  AnswerLostError,
  answerCall,
  answerPack,
  errorOfRefusal,
  LocalTarget,
  RemoteTarget,
  refusalOf,
} from "@emanet/engine";
import { MemoryStore } from "@emanet/storage";
import { noRetention } from "../../packages/engine/src/format/snapshot.ts";
import { encodeCompletion, encodeDraft } from "../../packages/engine/src/protocol/completion-messages.ts";
import { doneAnswer, emptyRequest } from "../../packages/engine/src/protocol/message.ts";
import {
  encodeNodeAnswers,
  encodeNodeOffer,
  encodeOffer,
  encodeSegmentAnswers,
} from "../../packages/engine/src/protocol/offer-messages.ts";
import {
  encodeBegin,
  encodeOrdinalRequest,
  encodeOrdinals,
  encodeStart,
} from "../../packages/engine/src/protocol/start-messages.ts";
import { encodeUnit } from "../../packages/engine/src/protocol/unit-message.ts";
import { uploadTargetConformance } from "../../packages/engine/src/testing/index.ts";
import { SeededRandom } from "../../packages/engine/src/testing/random-tree.ts";
import { openTestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";

/** A service in the same process: the answers of a local target, errors as refusals that were sent. */
function serve(local: UploadTarget): (request: UploadCall) => Promise<Uint8Array> {
  return async (request) => {
    try {
      if (request.operation === "pack") return await answerPack(local, request.name, request.chunks());
      // A copy, as a network makes one.
      return await answerCall(local, request.operation, Buffer.from(request.body));
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === null) throw error;
      throw errorOfRefusal({ ...refusal });
    }
  };
}

/** Loses one of six requests and one of six answers. */
function losing(call: (request: UploadCall) => Promise<Uint8Array>, random: SeededRandom) {
  return async (request: UploadCall) => {
    const fate = random.below(6);
    if (fate === 1) throw new AnswerLostError("the request was lost");
    const answer = await call(request);
    if (fate === 2) throw new AnswerLostError("the answer was lost");
    return answer;
  };
}

const networks = {
  "a network that loses nothing": (call: (request: UploadCall) => Promise<Uint8Array>) => call,
  "a network that loses every third message": (call: (request: UploadCall) => Promise<Uint8Array>) =>
    losing(call, new SeededRandom(530)),
};

for (const [name, network] of Object.entries(networks))
  uploadTargetConformance(`RemoteTarget over ${name}`, async () => {
    const env = await openTestEnvironment(new MemoryStore());
    const { vault, ctx } = env;
    return {
      env,
      target: (options) => {
        const local = new LocalTarget({ access: vault, authority: vault.authority, ...options });
        return new RemoteTarget({ ctx, call: network(serve(local)), pause: async () => {} });
      },
    };
  });

describe("docs/PROTOCOL.md", () => {
  const blockIds = Buffer.concat([Buffer.alloc(16, 0xb1), Buffer.alloc(16, 0xb2), Buffer.alloc(16, 0xb3)]);
  const id = Buffer.alloc(32, 0x5e);
  const row = {
    ...{ id: "01".repeat(16), source: "s", session: 1, startedAt: 1, completedAt: 1_800_000_000_000, rootOrdinal: 1 },
    ...{ rootId: id, size: 1, files: 1, warnings: 0, storedBytes: 1, status: "completed" as const },
    ...{ retention: noRetention, changes: 7, reach: Buffer.alloc(0) },
  };
  const query = { id, blockIds, hooks: [-2n], oldSegments: [300], continues: false, precedingHooks: [] };
  const frame = 2 ** 24 + 1;
  const unit = {
    ...{ number: 1, packs: ["0a".repeat(16)], hooks: [[5n, 32] as const], follows: [[31, 32] as const] },
    blockLists: [{ frame, recordFrame: frame + 1, blockList: Buffer.of(1, 2, 3) }],
    items: [{ ordinal: 32, kind: "segment" as const, id, recipe: Buffer.of(9), recordFrame: frame + 1 }],
  };
  const examples: Readonly<Record<string, Buffer>> = {
    "begin request": encodeBegin("02".repeat(16)),
    "begin answer": encodeStart({
      ...{ session: 7, nonce: 258, catalogId: 4, ordinals: { first: 32, end: 64 } },
      damaged: [5, 300],
    }),
    "ordinals request": encodeOrdinalRequest(1, 256),
    "ordinals answer": encodeOrdinals({ first: 64, end: 320 }),
    "offer request": encodeOffer([query]),
    "offer answer": encodeSegmentAnswers([
      { ordinal: 0, frames: Float64Array.of(0, frame, frame), slots: Uint32Array.of(0, 4, 5) },
      { ordinal: 31, frames: new Float64Array(0), slots: new Uint32Array(0) },
    ]),
    "nodes request": encodeNodeOffer([id]),
    "nodes answer": encodeNodeAnswers([null]),
    "register request": encodeUnit(unit),
    "register answer": doneAnswer("register"),
    "renew request": emptyRequest("renew"),
    "renew answer": doneAnswer("renew"),
    "complete request": encodeDraft({ row, manifest: Buffer.from("EMANETM2") }),
    "complete answer": encodeCompletion(row),
    "abandon request": emptyRequest("abandon"),
    "abandon answer": doneAnswer("abandon"),
    "pack answer": doneAnswer("pack"),
  };
  const text = readFileSync(new URL("../../docs/PROTOCOL.md", import.meta.url), "utf8");
  const documented = new Map(
    [...text.matchAll(/^([a-z]+ (?:request|answer)) +((?:[0-9a-f]{2}(?:×\d+)?[ \n]*)+)$/gm)].map(
      ([, name = "", hex = ""]) => [name, expand(hex)],
    ),
  );

  for (const [name, bytes] of Object.entries(examples))
    test(`${name}: the example in the document has the bytes that the code makes`, () => {
      assert.equal(documented.get(name), bytes.toString("hex"));
    });
});

/** The bytes of an example: pairs of hexadecimal digits; `5e×32` is 32 times the same byte. */
function expand(text: string): string {
  return text
    .trim()
    .split(/\s+/)
    .map((part) => {
      const [byte = "", times = "1"] = part.split("×");
      return byte.repeat(Number(times));
    })
    .join("");
}

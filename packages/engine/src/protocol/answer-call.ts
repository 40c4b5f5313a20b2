/** The service's side of the upload protocol: decodes a request, calls the target, encodes the answer. */

import type { UploadTarget } from "../backup/upload-target.ts";
import { decodeDraft, encodeCompletion } from "./completion-messages.ts";
import type { MessageOperation } from "./message.ts";
import { doneAnswer, readEmptyRequest } from "./message.ts";
import { decodeNodeOffer, decodeOffer, encodeNodeAnswers, encodeSegmentAnswers } from "./offer-messages.ts";
import { decodeBegin, decodeOrdinalRequest, encodeOrdinals, encodeStart } from "./start-messages.ts";
import { decodeUnit } from "./unit-message.ts";

/** Answers a request. Rejects with `FormatError` for a request that cannot be read, and with what the target throws. */
export async function answerCall(
  target: UploadTarget,
  operation: MessageOperation,
  request: Uint8Array,
): Promise<Buffer> {
  switch (operation) {
    case "begin":
      return encodeStart(await target.begin(decodeBegin(request)));
    case "ordinals": {
      const { request: number, count } = decodeOrdinalRequest(request);
      return encodeOrdinals(await target.reserveOrdinals(number, count));
    }
    case "offer":
      return encodeSegmentAnswers(await target.offer(decodeOffer(request)));
    case "nodes":
      return encodeNodeAnswers(await target.offerNodes(decodeNodeOffer(request)));
    case "register":
      await target.register(decodeUnit(request));
      return doneAnswer(operation);
    case "renew":
      readEmptyRequest(operation, request);
      await target.renew();
      return doneAnswer(operation);
    case "complete":
      return encodeCompletion(await target.complete(decodeDraft(request)));
    case "abandon":
      readEmptyRequest(operation, request);
      await target.abandon();
      return doneAnswer(operation);
  }
}

/** Stores a pack and answers. */
export async function answerPack(target: UploadTarget, name: string, body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  await target.putPack(name, body);
  return doneAnswer("pack");
}

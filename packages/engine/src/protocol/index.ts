/** The upload protocol: the upload port as messages (docs/PROTOCOL.md). */

export { answerCall, answerPack } from "./answer-call.ts";
export { answerRead } from "./answer-read.ts";
export { decodeFound, encodeFind } from "./find-messages.ts";
export type { MessageOperation, UploadOperation } from "./message.ts";
export { maxAnswerBytes, maxRequestBytes, operationCodes, protocolVersion } from "./message.ts";
export type { ReadOperation } from "./read-messages.ts";
export { decodeKeys, encodeKeyQuery, maxReadRequestBytes, readOperations } from "./read-messages.ts";
export type { ReadableItems } from "./readable-items.ts";
export type { Refusal, RefusalReason } from "./refusal.ts";
export { AnswerLostError, errorOfRefusal, isReason, refusalOf, refusalReasons } from "./refusal.ts";
export { type ReadCalls, RemoteReadPort } from "./remote-read-port.ts";
export type { RemoteTargetOptions, UploadCall } from "./remote-target.ts";
export { RemoteTarget } from "./remote-target.ts";

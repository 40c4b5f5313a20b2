/** The part of the engine that a client of the service needs: the two ports over its API; apart for the same reason as `backup.ts`. */

export { CatalogError } from "../catalog/catalog.ts";
export { OutdatedKeysError } from "../catalog/outdated-keys.ts";
export type { WriterKeys } from "../format/vault-keys.ts";
export { isObjectStoreError, ObjectStoreError } from "../object-store.ts";
export type { MessageOperation } from "../protocol/message.ts";
export type { ReadOperation } from "../protocol/read-messages.ts";
export { AnswerLostError, errorOfRefusal, isReason } from "../protocol/refusal.ts";
export { type ReadCalls, RemoteReadPort } from "../protocol/remote-read-port.ts";
export type { SpooledPack, UploadCall } from "../protocol/remote-target.ts";
export { RemoteTarget } from "../protocol/remote-target.ts";

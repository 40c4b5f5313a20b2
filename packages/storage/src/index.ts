/**
 * Implementations of the engine's object store port. `docs/STORAGE.md` says what each guarantees. Test
 * doubles and the conformance suite are in `@emanet/storage/testing`, so that production code does not load them.
 */

export { FileStore, type FileStoreOptions, openFileStore } from "./file.ts";
export type { SyncPolicy } from "./file-folders.ts";
export { MemoryStore } from "./memory.ts";
export { type OpenedStore, openStore, type StoreContext } from "./open.ts";
export { RetryingStore, type RetryOptions } from "./retrying.ts";
export { openS3Store, type S3Credentials, S3Store, type S3StoreOptions } from "./s3.ts";
export { parseS3Url, type S3Location } from "./s3-url.ts";
export { SpoolingStore, type SpoolOptions } from "./spooling.ts";

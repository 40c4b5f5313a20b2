/** The types of `verify-audit.mjs`, which is one file without dependencies. */

export class Bad extends Error {
  readonly place: string;
}

export type Keys = ReadonlyMap<string, unknown>;

export interface Summary {
  readonly chain: string;
  readonly first: number;
  readonly last: number;
  readonly records: number;
  readonly masked: number;
  readonly selection: string;
  readonly format: string;
  readonly compared: number;
}

type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

export function verifyExport(
  chunks: Chunks,
  keys: Keys,
  earlier?: ReadonlyMap<string, string>,
  compared?: { readonly whole?: ReadonlyMap<string, string> | null },
): Promise<Summary>;
export function readWhole(chunks: Chunks, keys: Keys): Promise<ReadonlyMap<string, string>>;
export function readKeys(text: string): Keys;
export function readEarlier(chunks: Chunks, keys: Keys, found?: Map<string, string>): Promise<Map<string, string>>;

/** Bodies as streams, and the progress of sending and receiving them. */

export interface Progress {
  readonly direction: "up" | "down";
  /** Bytes so far, of this attempt. */
  readonly bytes: number;
  /** All bytes, where the length is known. */
  readonly total: number | null;
}

export type OnProgress = (progress: Progress) => void;

/**
 * The body of a request. A stream can be read once, so a request with one is not repeated; a function that makes the
 * stream is called for every attempt.
 */
export type RequestBody =
  | string
  | Uint8Array<ArrayBuffer>
  | Blob
  | ReadableStream<Uint8Array>
  | (() => ReadableStream<Uint8Array>);

/** The bytes of an answer. Read it once, by one of these ways. */
export interface StreamedBody {
  readonly stream: ReadableStream<Uint8Array>;
  /** Of `Content-Length`; null if the answer is compressed or has no length. */
  readonly sizeBytes: number | null;
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  text(): Promise<string>;
}

/** Whether a value is sent as it is. */
export function isContent(value: unknown): value is RequestBody {
  const isBytes = value instanceof Uint8Array || value instanceof Blob || value instanceof ReadableStream;
  return isBytes || typeof value === "string" || typeof value === "function";
}

export function isRepeatableBody(body: RequestBody | undefined): boolean {
  return !(body instanceof ReadableStream);
}

/** A body for `fetch` that reports its progress. */
export function outgoing(body: RequestBody, onProgress: OnProgress | undefined): NonNullable<RequestInit["body"]> {
  const made = typeof body === "function" ? body() : body;
  if (onProgress === undefined) return made;
  const total = sizeOf(made);
  const source = made instanceof ReadableStream ? made : new Response(made).body;
  return source === null ? made : source.pipeThrough(counting("up", total, onProgress));
}

function sizeOf(body: string | Uint8Array | Blob | ReadableStream): number | null {
  if (typeof body === "string") return new TextEncoder().encode(body).length;
  if (body instanceof Uint8Array) return body.length;
  return body instanceof Blob ? body.size : null;
}

export function incoming(response: Response, onProgress: OnProgress | undefined): StreamedBody {
  const length = response.headers.get("content-length");
  // A compressed answer has the length of its compressed bytes, and those are not what is read.
  const sizeBytes = length === null || response.headers.has("content-encoding") ? null : Number(length);
  const open = () => {
    const body = response.body ?? new Blob([]).stream();
    return onProgress === undefined ? body : body.pipeThrough(counting("down", sizeBytes, onProgress));
  };
  let stream: ReadableStream<Uint8Array<ArrayBuffer>> | undefined;
  // Without a stream in between, the platform need not copy the bytes.
  const whole = () => (onProgress === undefined && stream === undefined ? response : new Response(stream ?? open()));
  return {
    get stream() {
      stream ??= open();
      return stream;
    },
    sizeBytes,
    bytes: async () => new Uint8Array(await whole().arrayBuffer()),
    text: () => whole().text(),
  };
}

function counting(direction: Progress["direction"], total: number | null, onProgress: OnProgress) {
  let bytes = 0;
  return new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      bytes += chunk.length;
      onProgress({ direction, bytes, total });
      controller.enqueue(chunk);
    },
  });
}

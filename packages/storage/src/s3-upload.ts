/**
 * Sending one object to S3: in one request where it is small or already in memory, else in parts.
 *
 * A multipart upload, step by step: create → upload parts, a few at a time → complete. Nothing is seen before complete,
 * which takes the `If-None-Match: *` of an `ifAbsent` put. After any failure the upload is aborted, so that
 * its parts use no space. If the abort fails too (the server is down), a later open removes the upload.
 */

import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { type ObjectBody, ObjectStoreError, type PutOptions } from "@emanet/engine/object-store";
import { assertBody, readBody } from "./body.ts";

export interface Target {
  readonly client: S3Client;
  readonly bucket: string;
  readonly key: string;
}

/**
 * S3 allows 5 MiB to 5 GiB and 10 000 parts: 8 MiB reach 80 GiB, far beyond the port's limit. Larger parts would mean
 * fewer requests (a 64 MiB pack has 8) but more memory for each put and more to send again after a failure.
 */
export const partBytes = 8 * 1024 * 1024;

/** With the one being filled: 24 MiB of memory for each streamed put. */
const partsInFlight = 2;

/** Bytes that are in memory anyway, up to the largest pack, go in one request: no parts to clean up. */
const singlePutBytes = 64 * 1024 * 1024;

/** A stream of known size goes in one request too where holding it takes no more memory than its parts would. */
const gatheredBytes = partBytes * (partsInFlight + 1);

/** For the abort after a failure, when the caller's signal may have fired. */
const abortLimitMs = 10_000;

/** Sends an object. Rejects with what the client throws; the caller turns it into the port's errors. */
export async function sendObject(
  target: Target,
  body: ObjectBody,
  options: PutOptions,
  beforeParts: () => Promise<void>,
): Promise<void> {
  assertBody(body, options);
  if (body instanceof Uint8Array && body.byteLength <= singlePutBytes) return putWhole(target, body, options);
  if (options.size !== undefined && options.size <= gatheredBytes) {
    return putWhole(target, await gather(body, options, options.size), options);
  }
  const parts = cutParts(readBody(body, options));
  const first = await parts.next();
  // A short part is the last one: the whole body has been read, and its size checked.
  if (first.done) return putWhole(target, new Uint8Array(0), options);
  if (first.value.byteLength < partBytes) return putWhole(target, first.value, options);
  try {
    await beforeParts();
    await putParts(target, first.value, parts, options);
  } finally {
    await parts.return(undefined);
  }
}

/** A body of known size in one buffer; `readBody` checks the size. */
async function gather(body: ObjectBody, options: PutOptions, size: number): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafeSlow(size);
  let filled = 0;
  for await (const chunk of readBody(body, options)) {
    bytes.set(chunk, filled);
    filled += chunk.byteLength;
  }
  return bytes;
}

async function putWhole(target: Target, body: Uint8Array, options: PutOptions): Promise<void> {
  const command = new PutObjectCommand({
    Bucket: target.bucket,
    Key: target.key,
    Body: body,
    ContentLength: body.byteLength,
    ChecksumAlgorithm: "CRC32",
    ...condition(options),
  });
  await target.client.send(command, sending(options.signal));
}

async function putParts(
  target: Target,
  first: Uint8Array,
  rest: AsyncIterable<Uint8Array>,
  options: PutOptions,
): Promise<void> {
  const { client, bucket: Bucket, key: Key } = target;
  const create = new CreateMultipartUploadCommand({ Bucket, Key, ChecksumAlgorithm: "CRC32" });
  const { UploadId } = await client.send(create, sending(options.signal));
  if (UploadId === undefined) throw new ObjectStoreError("unavailable", "the server began an upload without an id");
  try {
    const Parts = await uploadAll({ ...target, uploadId: UploadId }, first, rest, options.signal);
    const complete = { Bucket, Key, UploadId, MultipartUpload: { Parts }, ...condition(options) };
    await client.send(new CompleteMultipartUploadCommand(complete), sending(options.signal));
  } catch (error) {
    await abandon({ ...target, uploadId: UploadId });
    throw error;
  }
}

interface Upload extends Target {
  readonly uploadId: string;
}

/** Uploads every part, a few at a time; the first failure stops the others, and none is under way afterwards. */
async function uploadAll(
  upload: Upload,
  first: Uint8Array,
  rest: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<CompletedPart[]> {
  const done: CompletedPart[] = [];
  const running = new Set<Promise<void>>();
  const stop = new AbortController();
  const both = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const start = (bytes: Uint8Array) => {
    const number = done.push({}) - 1;
    const part = uploadPart(upload, number + 1, bytes, both).then((completed) => {
      done[number] = completed;
      running.delete(part);
    });
    // A failure is met at the next race below; until then it is not unhandled.
    part.catch(() => undefined);
    running.add(part);
  };
  try {
    start(first);
    for await (const bytes of rest) {
      while (running.size >= partsInFlight) await Promise.race(running);
      start(bytes);
    }
    await Promise.all(running);
    return done;
  } finally {
    stop.abort();
    await Promise.allSettled(running);
  }
}

async function uploadPart(upload: Upload, number: number, bytes: Uint8Array, signal: AbortSignal) {
  const command = new UploadPartCommand({
    Bucket: upload.bucket,
    Key: upload.key,
    UploadId: upload.uploadId,
    PartNumber: number,
    Body: bytes,
    ContentLength: bytes.byteLength,
    ChecksumAlgorithm: "CRC32",
  });
  const { ETag, ChecksumCRC32 } = await upload.client.send(command, sending(signal));
  return { PartNumber: number, ETag, ChecksumCRC32 };
}

/** Aborts an upload. Its failure is not reported: the put has already failed with the first error. */
export async function abandon(upload: Upload): Promise<void> {
  const { client, bucket: Bucket, key: Key, uploadId: UploadId } = upload;
  const command = new AbortMultipartUploadCommand({ Bucket, Key, UploadId });
  await client.send(command, sending(AbortSignal.timeout(abortLimitMs))).catch(() => undefined);
}

/** Gathers chunks into fresh parts of `partBytes`; only the last is shorter, and an empty body has none. */
async function* cutParts(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
  let part = Buffer.allocUnsafeSlow(partBytes);
  let filled = 0;
  for await (let chunk of chunks) {
    while (chunk.byteLength > 0) {
      const taken = Math.min(chunk.byteLength, partBytes - filled);
      part.set(chunk.subarray(0, taken), filled);
      filled += taken;
      chunk = chunk.subarray(taken);
      if (filled < partBytes) continue;
      yield part;
      part = Buffer.allocUnsafeSlow(partBytes);
      filled = 0;
    }
  }
  if (filled > 0) yield part.subarray(0, filled);
}

function condition({ ifAbsent }: PutOptions): { IfNoneMatch?: "*" } {
  return ifAbsent ? { IfNoneMatch: "*" } : {};
}

function sending(signal: AbortSignal | undefined): { abortSignal?: AbortSignal } {
  return signal === undefined ? {} : { abortSignal: signal };
}

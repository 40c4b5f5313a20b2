/**
 * Runs once when a bucket is opened: it checks conditional writes and removes abandoned uploads.
 *
 * The probe is one object of a fixed name that no store object can have. It is made by the first open and stays, so
 * opening needs no right to delete and adds no object. Two things are checked, because servers got them at different
 * times: a plain put and the completion of a multipart upload must both refuse an existing name.
 */

import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { ObjectStoreError } from "@emanet/engine/object-store";
import { s3Error } from "./s3-errors.ts";
import { abandon } from "./s3-upload.ts";

export interface Bucket {
  readonly client: S3Client;
  readonly bucket: string;
  readonly prefix: string;
}

const probeName = ".emanet-probe";

/** A put takes minutes on the slowest connection; the sender of an upload that is a day old no longer runs. */
const forgottenAfterMs = 24 * 60 * 60 * 1000;

/** Throws `unsupported` if the server accepts two conditional writes of one name. */
export async function probeConditionalWrites({ client, bucket, prefix }: Bucket): Promise<void> {
  const target = { Bucket: bucket, Key: prefix + probeName };
  const empty = { Body: new Uint8Array(0), ContentLength: 0 };
  const put = () => client.send(new PutObjectCommand({ ...target, ...empty, IfNoneMatch: "*" }));
  // The first may make the probe; the second must be refused.
  const refused = (await isRefused(put)) || (await isRefused(put));
  if (!refused) throw notConditional("a put");
  const { UploadId = "" } = await client.send(new CreateMultipartUploadCommand(target));
  try {
    const part = await client.send(
      new UploadPartCommand({ ...target, UploadId, PartNumber: 1, Body: Uint8Array.of(0), ContentLength: 1 }),
    );
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag: part.ETag, ChecksumCRC32: part.ChecksumCRC32 }] };
    const complete = new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload, IfNoneMatch: "*" });
    if (!(await isRefused(() => client.send(complete)))) throw notConditional("an upload in parts");
  } finally {
    await abandon({ client, bucket, key: target.Key, uploadId: UploadId });
  }
}

/** Aborts uploads of this store that a killed process left, at most a page of them each time. */
export async function removeOldUploads({ client, bucket, prefix }: Bucket, now: number): Promise<void> {
  const command = new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix });
  const page = await client.send(command).catch((cause: unknown) => {
    const error = s3Error(cause, "list uploads");
    // A failure here does not stop the opening: the right may be missing, and not every server has the call.
    if (error.code === "denied" || error.code === "unsupported") return null;
    throw error;
  });
  for (const { Key, UploadId, Initiated } of page?.Uploads ?? []) {
    if (Key === undefined || UploadId === undefined || Initiated === undefined) continue;
    if (now - Initiated.getTime() > forgottenAfterMs) await abandon({ client, bucket, key: Key, uploadId: UploadId });
  }
}

async function isRefused(call: () => Promise<unknown>): Promise<boolean> {
  try {
    await call();
    return false;
  } catch (cause) {
    if (s3Error(cause, "probe").code === "exists") return true;
    throw cause;
  }
}

function notConditional(what: string): ObjectStoreError {
  return new ObjectStoreError("unsupported", `the server ignores If-None-Match on ${what}: two writers could both win`);
}

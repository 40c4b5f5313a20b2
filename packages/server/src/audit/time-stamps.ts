/**
 * The anchor of checkpoints to a time-stamp authority (RFC 3161), where one is configured (`EMANET_AUDIT_TSA_URL`). Its answer proves
 * that a checkpoint existed at a time, also against somebody who has our keys. It is stored as it came; `openssl ts -verify` checks it.
 */

import { createHash } from "node:crypto";
import { TransientJobError } from "../kernel/jobs/index.ts";

export interface TimeStamps {
  /** The answer of the authority (`TimeStampResp`) about the SHA-256 of these bytes. */
  stamp(bytes: Buffer, signal: AbortSignal): Promise<Buffer>;
}

/** Authorities answer within a second or two. A job tries again later. */
const answerTimeoutMs = 20_000;

/** With all certificates of its signer an answer has some 6 KB. */
const maxAnswerBytes = 64 * 1024;

export function createTimeStamps(url: string): TimeStamps {
  return {
    async stamp(bytes, signal) {
      const digest = createHash("sha256").update(bytes).digest();
      const answer = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/timestamp-query" },
        body: new Uint8Array(timeStampQuery(digest)),
        redirect: "error",
        signal: AbortSignal.any([signal, AbortSignal.timeout(answerTimeoutMs)]),
      });
      const stamp = Buffer.from(await answer.arrayBuffer());
      if (answer.status !== 200 || stamp.length > maxAnswerBytes) throw new TransientJobError("time_stamp_refused");
      if (!isGranted(stamp) || !stamp.includes(digest)) throw new TransientJobError("time_stamp_wrong");
      return stamp;
    },
  };
}

/** The object id of SHA-256 (2.16.840.1.101.3.4.2.1) with its parameters, NULL. */
const sha256Algorithm = Buffer.from("300d06096086480165030402010500", "hex");

/** `TimeStampReq` in DER: version 1, the hash, and the request for the certificates of the signer. */
export function timeStampQuery(digest: Buffer): Buffer {
  const imprint = sequence(Buffer.concat([sha256Algorithm, Buffer.from([0x04, digest.length]), digest]));
  const version = Buffer.from([0x02, 0x01, 0x01]);
  const certReq = Buffer.from([0x01, 0x01, 0xff]);
  return sequence(Buffer.concat([version, imprint, certReq]));
}

/** All lengths here are below 128. */
function sequence(content: Buffer): Buffer {
  if (content.length > 127) throw new RangeError("too long for one byte of length");
  return Buffer.concat([Buffer.from([0x30, content.length]), content]);
}

/** `TimeStampResp` begins with its status: 0 granted, 1 granted with changes. */
function isGranted(stamp: Buffer): boolean {
  const outer = contentAt(stamp, 0, 0x30);
  const info = outer && contentAt(stamp, outer.start, 0x30);
  const status = info && contentAt(stamp, info.start, 0x02);
  return status !== null && stamp[status.start] !== undefined && (stamp[status.start] ?? 2) <= 1;
}

/** Where the content of a DER value with this tag begins; null for another value. */
function contentAt(bytes: Buffer, at: number, tag: number): { readonly start: number } | null {
  const length = bytes[at + 1];
  if (bytes[at] !== tag || length === undefined) return null;
  return { start: at + 2 + (length < 128 ? 0 : length - 128) };
}

/** The anchor of checkpoints to a time-stamp authority (RFC 3161), where one is configured. */

export interface TimeStamps {
  /** The answer of the authority (`TimeStampResp`) about the SHA-256 of these bytes. */
  stamp(bytes: Buffer, signal: AbortSignal): Promise<Buffer>;
}

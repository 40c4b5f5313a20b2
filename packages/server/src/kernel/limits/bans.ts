/** What the kernel needs to know about bans of addresses. Authentication refuses banned credentials. */
export interface AddressBans {
  /** Whether requests without a credential from this address are refused. Reads memory only. */
  isBanned(addressKey: string): boolean;
}

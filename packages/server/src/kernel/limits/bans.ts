/** What the kernel asks about bans; credentials that are banned are refused by authentication. */
export interface AddressBans {
  /** Whether requests without a credential from this address are refused. Answers at once, from what is known here. */
  isBanned(addressKey: string): boolean;
}

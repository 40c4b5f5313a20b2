/** Turkish mobile numbers, in the spellings people use. */

/** `+905321234567` for any usual spelling of a Turkish mobile number, else null: only mobiles get codes by SMS. */
export function normalizeMobile(text: string): string | null {
  const digits = text.replaceAll(/[\s().-]/g, "");
  const national = /^(?:\+90|0090|90|0)?(5\d{9})$/.exec(digits)?.[1];
  return national === undefined ? null : `+90${national}`;
}

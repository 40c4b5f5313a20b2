/**
 * Tax numbers: VKN (10 digits, firms) and TCKN (11 digits, people). Both carry check digits, which catch nearly every
 * typing mistake; what passes them is well-formed, not necessarily assigned.
 */

/** These pass the checksum but belong to no taxpayer; people type them as placeholders. */
const placeholders = new Set(["4444444444", "11111111111"]);

export function isTaxId(text: string): boolean {
  return !placeholders.has(text) && (isVkn(text) || isTckn(text));
}

function isVkn(text: string): boolean {
  if (!/^\d{10}$/.test(text)) return false;
  const digits = Array.from(text, Number);
  const check = digits.pop();
  const sum = digits.reduce((total, digit, index) => {
    const shifted = (digit + 9 - index) % 10;
    return total + (shifted === 9 ? 9 : (shifted * 2 ** (9 - index)) % 9);
  }, 0);
  return check === (10 - (sum % 10)) % 10;
}

function isTckn(text: string): boolean {
  if (!/^[1-9]\d{10}$/.test(text)) return false;
  const digits = Array.from(text, Number);
  const sum = (from: number, step: number, to: number) =>
    digits.slice(from, to).reduce((total, digit, index) => (index % step === 0 ? total + digit : total), 0);
  const tenth = (((7 * sum(0, 2, 9) - sum(1, 2, 8)) % 10) + 10) % 10;
  return digits[9] === tenth && digits[10] === sum(0, 1, 10) % 10;
}

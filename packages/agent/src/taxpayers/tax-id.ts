/** Tax numbers in names of folders: VKN (10 digits, firms) and TCKN (11 digits, people). Their check digits tell them from other numbers. */

/** These pass the check and belong to nobody; people type them as placeholders. */
const placeholders: ReadonlySet<string> = new Set(["4444444444", "11111111111"]);

export function isTaxId(text: string): boolean {
  if (placeholders.has(text)) return false;
  const digits = Array.from(text, Number);
  if (/^\d{10}$/.test(text)) return digits[9] === vknCheck(digits);
  return /^[1-9]\d{10}$/.test(text) && isTckn(digits);
}

/** The only tax number in a name; null if there is none, or more than one. */
export function taxIdIn(name: string): string | null {
  const found = new Set([...name.matchAll(/(?<!\d)\d{10,11}(?!\d)/g)].map(([digits]) => digits).filter(isTaxId));
  const [only] = found;
  return found.size === 1 && only !== undefined ? only : null;
}

function vknCheck(digits: readonly number[]): number {
  const sum = digits.slice(0, 9).reduce((total, digit, i) => {
    const t = (digit + 9 - i) % 10;
    return total + (t === 9 ? 9 : (t * 2 ** (9 - i)) % 9);
  }, 0);
  return (10 - (sum % 10)) % 10;
}

function isTckn(digits: readonly number[]): boolean {
  const at = (i: number) => digits[i] ?? 0;
  const odd = at(0) + at(2) + at(4) + at(6) + at(8);
  const even = at(1) + at(3) + at(5) + at(7);
  const tenth = (((7 * odd - even) % 10) + 10) % 10;
  return at(9) === tenth && at(10) === (odd + even + tenth) % 10;
}

/** Check digits of Turkish tax numbers, so that a slip is seen before anything is sent. The service checks them too. */

/** VKN: ten digits, the last is a check digit. */
function isVkn(text: string): boolean {
  const digits = [...text].map(Number);
  const sum = digits.slice(0, 9).reduce((total, digit, at) => {
    const shifted = (digit + 9 - at) % 10;
    const product = (shifted * 2 ** (9 - at)) % 9;
    return total + (shifted !== 0 && product === 0 ? 9 : product);
  }, 0);
  return (10 - (sum % 10)) % 10 === digits[9];
}

/** TCKN: eleven digits, the last two are check digits, the first is not 0. */
function isTckn(text: string): boolean {
  const digits = [...text].map(Number);
  const at = (place: number) => digits[place] ?? 0;
  const odd = at(0) + at(2) + at(4) + at(6) + at(8);
  const even = at(1) + at(3) + at(5) + at(7);
  const tenth = (((odd * 7 - even) % 10) + 10) % 10;
  return at(0) !== 0 && tenth === at(9) && (odd + even + at(9)) % 10 === at(10);
}

export function isTaxId(text: string): boolean {
  return /^\d{10}$/.test(text) ? isVkn(text) : /^\d{11}$/.test(text) && isTckn(text);
}

export interface PastedLine {
  readonly number: number;
  readonly name: string;
  readonly taxId: string;
  readonly verdict: "ok" | "no_name" | "bad_id" | "twice";
}

/** Reads a pasted list: in each line a name and a tax number, in any order, with tabs, commas, semicolons or spaces between. */
export function parsePasted(text: string): PastedLine[] {
  const seen = new Set<string>();
  return text.split(/\r?\n/).flatMap((line, at) => {
    if (line.trim() === "") return [];
    const taxId = /(?<!\d)\d{10,11}(?!\d)/.exec(line)?.[0] ?? "";
    const name = line
      .replace(taxId, " ")
      .replaceAll(/[\t;,|"]+/g, " ")
      .replaceAll(/\s+/g, " ")
      .trim();
    const isTwice = taxId !== "" && seen.has(taxId);
    seen.add(taxId);
    const verdict = !isTaxId(taxId) ? "bad_id" : name === "" ? "no_name" : isTwice ? "twice" : "ok";
    return [{ number: at + 1, name, taxId, verdict }];
  });
}

/** A mobile number of Türkiye, however it is written: `0532 000 00 00`, `+90 (532) 000-00-00`. The service checks it too. */
export function isMobile(text: string): boolean {
  return /^\+?[\d ().-]+$/.test(text) && /^(?:90|0)?5\d{9}$/.test(text.replaceAll(/\D/g, ""));
}

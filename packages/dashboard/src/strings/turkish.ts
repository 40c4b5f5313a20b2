/** Suffixes of Turkish numbers: the last word that is spoken decides. */

const byDigit = ["sıfır", "bir", "iki", "üç", "dört", "beş", "altı", "yedi", "sekiz", "dokuz"];
const byTen = ["", "on", "yirmi", "otuz", "kırk", "elli", "altmış", "yetmiş", "seksen", "doksan"];

/** The last word of a number: 123 ends with "üç", 120 with "yirmi", 2000 with "bin". */
function lastWord(value: number): string {
  const whole = Math.abs(Math.trunc(value));
  if (whole % 10 !== 0 || whole === 0) return byDigit[whole % 10] ?? "";
  if (whole % 100 !== 0) return byTen[(whole % 100) / 10] ?? "";
  if (whole % 1_000 !== 0) return "yüz";
  return whole % 1_000_000 === 0 ? "milyon" : "bin";
}

const vowels = "aeıioöuü";
const back = "aıou";
const rounded = "oöuü";

function lastVowel(word: string): string {
  return [...word].findLast((letter) => vowels.includes(letter)) ?? "i";
}

function high(word: string): string {
  const vowel = lastVowel(word);
  if (back.includes(vowel)) return rounded.includes(vowel) ? "u" : "ı";
  return rounded.includes(vowel) ? "ü" : "i";
}

/** 123’ü, 120’si: "so many of them". The text is the number as it is shown. */
export function ofThem(value: number, text: string): string {
  const word = lastWord(value);
  return `${text}’${vowels.includes(word.at(-1) ?? "") ? "s" : ""}${high(word)}`;
}

/**
 * The order of names in the Turkish alphabet, as a text whose bytes have that order. It is stored beside the name, so that
 * lists are read in this order from an index and on every PostgreSQL, also one without ICU.
 */

/** The 29 letters, and the three of other languages at their place. */
const alphabet = Array.from("abcçdefgğhıijklmnoöpqrsştuüvwxyz");
/** After the digits. The 32 places end before the letters that have none. */
const firstPlace = "A".charCodeAt(0);
const places = new Map(alphabet.map((letter, index) => [letter, String.fromCharCode(firstPlace + index)]));

/** A cursor holds it, and has at most 512 characters. Longer names that begin alike are in the order of their ids. */
const maxOrderCharacters = 60;

/** Upper and lower case are equal; letters with other accents count as their letter. */
export function nameOrder(name: string): string {
  const letters = Array.from(name.normalize("NFC").toLocaleLowerCase("tr"));
  return letters.flatMap(placesOf).slice(0, maxOrderCharacters).join("");
}

function placesOf(letter: string): readonly string[] {
  const place = places.get(letter);
  if (place !== undefined) return [place];
  const bare = letter.normalize("NFD").replaceAll(/\p{Mn}/gu, "");
  return Array.from(bare, (part) => places.get(part) ?? part);
}

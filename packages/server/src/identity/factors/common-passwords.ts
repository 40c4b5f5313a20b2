/**
 * Passwords that are tried first. With a length of at least twelve, what people choose is a common word made long: a
 * year behind it, letters swapped for digits, the same thing twice, a walk over the keyboard. So a password is reduced
 * to its core and the core is looked up.
 */

/** Bases seen at the head of published lists, and those of this country and trade. Folded, letters only. */
const words = new Set(
  `password passwort passw parola sifre sifrem sifreyok parolam admin administrator root user kullanici test deneme demo
   welcome hosgeldiniz hosgeldin merhaba hello login letmein access master superman batman dragon monkey football
   baseball basketball futbol princess prenses sunshine iloveyou seniseviyorum askim canim hayatim sevgilim bebegim
   shadow michael jennifer jordan hunter ranger buster soccer hockey killer george andrew charlie thomas robert daniel
   mustafa mehmet ahmet ayse fatma emine hatice zeynep elif ali hasan huseyin ibrahim osman yusuf murat emre burak
   qwerty qwertyuiop asdfgh asdfghjkl zxcvbn zxcvbnm qazwsx qazwsxedc azerty qwertz abc abcd abcdef abcdefgh
   galatasaray fenerbahce besiktas trabzonspor bursaspor istanbul ankara izmir turkiye turkey ataturk cumhuriyet
   emanet yedek yedekleme backup muhasebe muhasebeci musavir malimusavir smmm vergi fatura efatura earsiv ofis office
   company sirket firma banka bank para money secret gizli guvenlik security changeme degistir default varsayilan
   computer bilgisayar internet google facebook instagram whatsapp microsoft windows iphone samsung pokemon starwars
   whatever trustno freedom ninja mustang corvette ferrari mercedes cheese chocolate cikolata kelebek yildiz gunes
   allah bismillah maasallah insallah muhammed ramazan summer winter spring autumn yaz kis bahar ocak subat mart nisan
   mayis haziran temmuz agustos eylul ekim kasim aralik monday friday sunday pazartesi cuma pazar`
    .split(/\s+/)
    .filter(Boolean),
);

/** Rows of keys and of counting, forwards; backwards is looked at too. */
const walks = ["01234567890", "abcdefghijklmnopqrstuvwxyz", "qwertyuiop", "asdfghjkl", "zxcvbnm", "qazwsxedcrfvtgb"];

/** Whether a password is one of those that are tried first; `own` are words of its owner, such as the e-mail's name. */
export function isCommonPassword(password: string, own: readonly string[]): boolean {
  const folded = fold(password);
  if (isRepetition(folded) || isWalk(folded)) return true;
  const ownWords = own.map((word) => lettersOf(fold(word))).filter((word) => word.length >= 4);
  const cores = [lettersOf(folded), lettersOf(unleet(folded))];
  return cores.some((core) => isKnown(core) || ownWords.includes(core));
}

/** Lower case without a locale, Turkish letters as plain Latin letters. */
function fold(text: string): string {
  return text.normalize("NFKD").replaceAll(/\p{M}/gu, "").replaceAll("ı", "i").toLowerCase();
}

/** The core: what is left without digits and signs. */
function lettersOf(text: string): string {
  return text.replaceAll(/[^\p{L}]/gu, "");
}

const swaps: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "i",
  "3": "e",
  "4": "a",
  "5": "s",
  "7": "t",
  "@": "a",
  $: "s",
  "!": "i",
};

function unleet(text: string): string {
  // Digits at the end are a year or a counter; those between letters stand for letters.
  return text.replace(/[\d\W_]+$/u, "").replaceAll(/[013457@$!]/g, (sign) => swaps[sign] ?? sign);
}

/** One word of the list, or two or three of them in a row. */
function isKnown(core: string, depth = 3): boolean {
  if (words.has(core)) return true;
  if (depth === 1) return false;
  for (let at = 3; at <= core.length - 3; at++) {
    if (words.has(core.slice(0, at)) && isKnown(core.slice(at), depth - 1)) return true;
  }
  return false;
}

/** `abcabcabcabc`, `aaaaaaaaaaaa`: a short piece over and over. */
function isRepetition(text: string): boolean {
  for (let size = 1; size <= 4; size++) {
    const piece = text.slice(0, size);
    if (text === piece.repeat(Math.ceil(text.length / size)).slice(0, text.length)) return true;
  }
  return false;
}

/** Made of a few walks alone: `123456789012`, `qwertyuiop12`. */
function isWalk(text: string): boolean {
  let rest = text;
  for (let pieces = 0; pieces < 3 && rest.length > 0; pieces++) {
    const step = longestWalk(rest);
    if (step < 2) return false;
    rest = rest.slice(step);
  }
  return rest.length === 0;
}

function longestWalk(text: string): number {
  const rows = walks.flatMap((walk) => [walk, [...walk].reverse().join("")]);
  for (let size = text.length; size >= 2; size--) {
    if (rows.some((row) => row.includes(text.slice(0, size)))) return size;
  }
  return 0;
}

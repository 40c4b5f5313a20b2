/** Two old code pages that accounting offices still have: Windows-1254 in exports, cp857 in file names in zip files. */

const windows1254: Readonly<Record<string, number>> = {
  ...{ Ğ: 0xd0, İ: 0xdd, Ş: 0xde, ğ: 0xf0, ı: 0xfd, ş: 0xfe },
  ...{ Ç: 0xc7, Ö: 0xd6, Ü: 0xdc, ç: 0xe7, ö: 0xf6, ü: 0xfc },
};
const cp857: Readonly<Record<string, number>> = {
  ...{ Ğ: 0xa6, İ: 0x98, Ş: 0x9e, ğ: 0xa7, ı: 0x8d, ş: 0x9f },
  ...{ Ç: 0x80, Ö: 0x99, Ü: 0x9a, ç: 0x87, ö: 0x94, ü: 0x81 },
};

export function toWindows1254(text: string): Buffer {
  return encode(text, windows1254);
}

export function toCp857(text: string): Buffer {
  return encode(text, cp857);
}

function encode(text: string, page: Readonly<Record<string, number>>): Buffer {
  const bytes = Buffer.allocUnsafe(text.length);
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    const code = unit < 0x80 ? unit : page[text.charAt(i)];
    if (code === undefined) throw new RangeError(`${text.charAt(i)} is not on the code page`);
    bytes[at++] = code;
  }
  return bytes;
}

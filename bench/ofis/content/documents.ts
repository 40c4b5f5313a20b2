/** Other files of an office: PDFs and pictures, workbooks, exports, mail, archives. */

import { toCp857, toWindows1254 } from "../code-pages.ts";
import type { FileWriter } from "../file-writer.ts";
import { SeededRandom } from "../seeded-random.ts";
import { address, firmName, goodsName, kurus, lira, operationName } from "../words.ts";
import { denseText, utf8Flag, ZipWriter } from "./zip.ts";

export interface Sized {
  /** Label for the random numbers. */
  readonly id: string;
  readonly bytes: number;
  /** `2026-09-14`. */
  readonly date: string;
}

/** A PDF around one scanned page: nearly all of it is the picture. */
export function writePdf(out: FileWriter, seed: number, { id, bytes, date }: Sized): void {
  const random = new SeededRandom(seed, "pdf", id);
  out.text(
    `%PDF-1.5\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n`,
  );
  out.text(
    `3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /XObject << /Im0 4 0 R >> >> >>\nendobj\n`,
  );
  out.text(
    `4 0 obj\n<< /Type /XObject /Subtype /Image /Width 1654 /Height 2339 /Filter /DCTDecode /Length ${bytes} >>\nstream\n`,
  );
  for (const piece of random.chunks(bytes)) out.writeDense(piece);
  out.text(
    `\nendstream\nendobj\n5 0 obj\n<< /Producer (Ornek Tarayici) /CreationDate (D:${date.replaceAll("-", "")}) >>\nendobj\ntrailer\n<< /Root 1 0 R /Info 5 0 R >>\n%%EOF\n`,
  );
}

/** A scanned picture. */
export function writeScan(out: FileWriter, seed: number, { id, bytes }: Sized): void {
  out.write(Buffer.from("ffd8ffe000104a46494600010101012c012c0000", "hex"));
  for (const piece of new SeededRandom(seed, "scan", id).chunks(bytes)) out.writeDense(piece);
  out.write(Buffer.from("ffd9", "hex"));
}

/** Share of a workbook that an edit does not change: everything after the changed cell is compressed again. */
const keptShare = { least: 20, most: 90 };

/** A workbook. `edit` is the day of the last change, 0 for none. */
export function writeWorkbook(
  out: FileWriter,
  seed: number,
  { id, bytes, date, edit }: Sized & { readonly edit: number },
): void {
  const kept =
    edit === 0
      ? bytes
      : Math.trunc((bytes * new SeededRandom(seed, "edit", id, edit).between(keptShare.least, keptShare.most)) / 100);
  const zip = new ZipWriter(out, date);
  const part = (name: string, text: string) => zip.add(Buffer.from(name), utf8Flag, [Buffer.from(text)]);
  part(
    "[Content_Types].xml",
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
  );
  part(
    "xl/workbook.xml",
    '<?xml version="1.0"?><workbook><sheets><sheet name="Mizan" sheetId="1"/></sheets></workbook>',
  );
  zip.add(Buffer.from("xl/sharedStrings.xml"), utf8Flag, cells(seed, id, edit, kept, bytes));
  part(
    "docProps/core.xml",
    `<?xml version="1.0"?><cp:coreProperties><dcterms:modified>${date}T16:${edit % 60}:00Z</dcterms:modified></cp:coreProperties>`,
  );
  zip.finish();
}

function* cells(seed: number, id: string, edit: number, kept: number, bytes: number): Generator<Buffer> {
  yield Buffer.from('<?xml version="1.0"?><sst><si><t>');
  yield* denseText(new SeededRandom(seed, "workbook", id), kept);
  if (bytes > kept) yield* denseText(new SeededRandom(seed, "workbook", id, edit), bytes - kept);
  yield Buffer.from("</t></si></sst>");
}

/** A bank's export: lines in Windows-1254. */
export function writeTable(out: FileWriter, seed: number, { id, bytes, date }: Sized): void {
  const random = new SeededRandom(seed, "table", id);
  out.write(toWindows1254("Tarih;Fiş No;Açıklama;Karşı Hesap;Borç;Alacak;Bakiye\r\n"));
  const day = date.split("-").reverse().join(".");
  let balance = kurus(random) * 100;
  while (out.size < bytes) {
    const amount = kurus(random);
    const debit = random.chance(0.5);
    balance = Math.abs(balance + (debit ? -amount : amount));
    const iban = `TR00 0000 0${random.digits(3)} ${random.digits(4)} ${random.digits(4)}`;
    const what = `${operationName(random)} ${firmName(random)}`;
    out.write(
      toWindows1254(
        `${day};${random.digits(8)};${what};${iban};${debit ? lira(amount) : ""};${debit ? "" : lira(amount)};${lira(balance)}\r\n`,
      ),
    );
  }
}

export function* mailMessages(seed: number, { id, bytes, date }: Sized): Generator<Buffer> {
  const random = new SeededRandom(seed, "mail", id);
  for (let made = 0; made < bytes; ) {
    const message = Buffer.from(mailMessage(random, date));
    made += message.length;
    yield message;
  }
}

/** One message: headers, some lines, and in half of them an attachment as base64. */
function mailMessage(random: SeededRandom, date: string): string {
  const { street, city } = address(random);
  const lines = Array.from(
    { length: random.between(2, 30) },
    () => `${operationName(random)}: ${goodsName(random)}, ${lira(kurus(random))} TL`,
  );
  const attached = random.chance(0.5) ? random.bytes(random.between(5_000, 180_000)).toString("base64") : "";
  const folded = attached.match(/.{1,76}/g)?.join("\n") ?? "";
  return `From ornek@ofis.example ${date}\nMessage-ID: <${random.uuid()}@ofis.example>\nFrom: ${firmName(random)} <kisi${random.below(400)}@ornek.example>\nSubject: ${operationName(random)} ${random.digits(6)}\nDate: ${date}\nContent-Type: multipart/mixed; boundary=ofis\n\n--ofis\nContent-Type: text/plain; charset=utf-8\n\n${lines.join("\n")}\n${street} ${city}\n--ofis\nContent-Type: application/pdf\nContent-Transfer-Encoding: base64\n\n${folded}\n--ofis--\n\n`;
}

/** A zip file with names in cp857, as old programs write them, or in UTF-8. */
export function writeArchive(
  out: FileWriter,
  seed: number,
  { id, bytes, date, oldNames, files }: Sized & { readonly oldNames: boolean; readonly files: number },
): void {
  const zip = new ZipWriter(out, date);
  for (let i = 0; i < files; i++) {
    const name = `Beyanname ŞĞİıÇ ${i + 1}.txt`;
    const content = denseText(new SeededRandom(seed, "archive", id, i), Math.ceil(bytes / files));
    zip.add(oldNames ? toCp857(name) : Buffer.from(name), oldNames ? 0 : utf8Flag, content);
  }
  zip.finish();
}

/**
 * e-Defter: the journal (Y) and the general ledger (K) of one month in XBRL GL, 4–10 MB of XML that is written once; and
 * the small berat files beside them, which repeat the signature of their ledger.
 *
 * Such XML compresses 30 : 1 and better when its texts are made of counters. Real ones have names, document numbers,
 * amounts with kuruş and free texts: 12–20 : 1 with zstd at level 3, and a test checks this.
 */

import type { FileWriter } from "../file-writer.ts";
import { SeededRandom } from "../seeded-random.ts";
import { accounts, firmName, goodsName, kurus, lira, operationName } from "../words.ts";

export interface Ledger {
  /** Start of the file names of the package: `9990000017-202608`. */
  readonly base: string;
  readonly tax: string;
  /** `202608`. */
  readonly month: string;
  readonly kind: "Y" | "K" | "YB" | "KB" | "GIB-YB" | "GIB-KB";
  readonly bytes: number;
}

/** Other firms that a firm has entries with in a month. */
const partners = 260;
/** Lines of an entry that name another firm than the entry itself. */
const otherPartnerShare = 0.4;

interface Firm {
  readonly name: string;
  readonly code: string;
}

export function writeLedger(out: FileWriter, seed: number, ledger: Ledger): void {
  const random = new SeededRandom(seed, "ledger", ledger.base, ledger.kind);
  out.text(head(ledger));
  if (ledger.kind === "Y" || ledger.kind === "K") writeEntries(out, random, ledger);
  else out.text(berat(ledger));
  out.text(signature(seed, ledger));
  out.text("</edefter:defter>\n");
}

function writeEntries(out: FileWriter, random: SeededRandom, ledger: Ledger): void {
  const firms = Array.from({ length: partners }, (_, i) => ({
    name: firmName(random),
    code: String(i).padStart(4, "0"),
  }));
  const date = `${ledger.month.slice(0, 4)}-${ledger.month.slice(4)}`;
  let line = 1;
  for (let entry = 1; out.size < ledger.bytes; entry++) {
    const firm = random.pickSkewed(firms);
    const day = `${date}-${String(1 + Math.trunc((28 * out.size) / ledger.bytes)).padStart(2, "0")}`;
    const amount = kurus(random);
    const about = `${operationName(random)} ${random.digits(6)} ${firm.name}`;
    out.text(entryHead(entry, day, about, amount));
    for (let detail = random.between(2, 5); detail > 0; detail--) {
      const part = detail === 1 ? amount : kurus(random);
      const other = random.chance(otherPartnerShare) ? random.pickSkewed(firms) : firm;
      out.text(entryDetail({ line: line++, day, amount: part, firm: other }, random));
    }
    out.text("</gl-cor:entryHeader>\n");
  }
}

function head({ tax, month, base, kind }: Ledger): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<edefter:defter xmlns:edefter="http://www.edefter.gov.tr" xmlns:gl-cor="http://www.xbrl.org/int/gl/cor/2006-10-25" xmlns:gl-bus="http://www.xbrl.org/int/gl/bus/2006-10-25">
<gl-cor:documentInfo><gl-cor:entriesType contextRef="journal_context">${kind === "Y" || kind === "YB" ? "journal" : "ledger"}</gl-cor:entriesType><gl-cor:uniqueID contextRef="journal_context">${kind}${month}000001</gl-cor:uniqueID></gl-cor:documentInfo>
<gl-cor:entityInformation><gl-bus:organizationIdentifier contextRef="journal_context">${tax}</gl-bus:organizationIdentifier><gl-bus:businessDescription contextRef="journal_context">${base}</gl-bus:businessDescription></gl-cor:entityInformation>
`;
}

function entryHead(entry: number, day: string, about: string, amount: number): string {
  const context = 'contextRef="journal_context"';
  return `<gl-cor:entryHeader>
  <gl-cor:enteredBy ${context}>Örnek Muhasebeci</gl-cor:enteredBy>
  <gl-cor:enteredDate ${context}>${day}</gl-cor:enteredDate>
  <gl-cor:entryNumber ${context}>${String(entry).padStart(10, "0")}</gl-cor:entryNumber>
  <gl-cor:entryComment ${context}>${about}</gl-cor:entryComment>
  <gl-bus:totalDebit ${context} decimals="INF" unitRef="try">${lira(amount)}</gl-bus:totalDebit>
  <gl-bus:totalCredit ${context} decimals="INF" unitRef="try">${lira(amount)}</gl-bus:totalCredit>
  <gl-cor:entryNumberCounter ${context} decimals="INF" unitRef="countable">${entry}</gl-cor:entryNumberCounter>
`;
}

interface Detail {
  readonly line: number;
  readonly day: string;
  readonly amount: number;
  readonly firm: Firm;
}

function entryDetail({ line, day, amount, firm: { name: firm, code } }: Detail, random: SeededRandom): string {
  const context = 'contextRef="journal_context"';
  const [main, name] = random.pickSkewed(accounts);
  const sub = `${main}.${random.below(3)}${random.below(10)}.${random.chance(0.5) ? code : random.digits(4)}`;
  return `  <gl-cor:entryDetail>
    <gl-cor:lineNumber ${context}>${line}</gl-cor:lineNumber>
    <gl-cor:lineNumberCounter ${context} decimals="INF" unitRef="countable">${line}</gl-cor:lineNumberCounter>
    <gl-cor:account>
      <gl-cor:accountMainID ${context}>${main}</gl-cor:accountMainID>
      <gl-cor:accountMainDescription ${context}>${name}</gl-cor:accountMainDescription>
      <gl-cor:accountSub>
        <gl-cor:accountSubDescription ${context}>${name} ${firm}</gl-cor:accountSubDescription>
        <gl-cor:accountSubID ${context}>${sub}</gl-cor:accountSubID>
      </gl-cor:accountSub>
    </gl-cor:account>
    <gl-cor:amount ${context} decimals="INF" unitRef="try">${lira(amount)}</gl-cor:amount>
    <gl-cor:debitCreditCode ${context}>${random.chance(0.5) ? "D" : "C"}</gl-cor:debitCreditCode>
    <gl-cor:postingDate ${context}>${day}</gl-cor:postingDate>
    <gl-cor:documentType ${context}>${random.chance(0.7) ? "invoice" : "voucher"}</gl-cor:documentType>
    <gl-cor:documentNumber ${context}>ORN${day.slice(0, 4)}${random.digits(9)}</gl-cor:documentNumber>
    <gl-cor:documentReference ${context}>${reference(random)}</gl-cor:documentReference>
    <gl-cor:documentDate ${context}>${day}</gl-cor:documentDate>
    <gl-bus:paymentMethod ${context}>${random.chance(0.6) ? "Banka" : "Kasa"}</gl-bus:paymentMethod>
    <gl-cor:detailComment ${context}>${operationName(random)} ${random.digits(6)} ${goodsName(random)} ${random.below(500)} ad. ${lira(kurus(random))} TL ${firm}</gl-cor:detailComment>
  </gl-cor:entryDetail>
`;
}

/** Invoices are named by their ETTN, bank entries by a number of the bank. */
function reference(random: SeededRandom): string {
  return random.chance(0.85) ? random.uuid() : `${random.digits(6)}/${random.digits(8)}`;
}

/** A berat names its ledger and the owner; the signature of the ledger follows. */
function berat({ kind, base }: Ledger): string {
  const of = kind.endsWith("YB") ? "Y" : "K";
  const seal = kind.startsWith("GIB-") ? "<edefter:onay>Gelir İdaresi Başkanlığı (ÖRNEK)</edefter:onay>\n" : "";
  return `<edefter:berat><edefter:dosya>${base}-${of}-000000.xml</edefter:dosya></edefter:berat>\n${seal}`;
}

function signature(seed: number, { base, kind }: Ledger): string {
  const of = kind.endsWith("YB") ? "Y" : kind.endsWith("KB") ? "K" : kind;
  const value = new SeededRandom(seed, "ledger signature", base, of).bytes(256).toString("base64");
  const certificate = new SeededRandom(seed, "ledger certificate", base.split("-")[0] ?? "")
    .bytes(1500)
    .toString("base64");
  return `<ds:Signature><ds:SignatureValue>${value}</ds:SignatureValue><ds:X509Certificate>${certificate}</ds:X509Certificate></ds:Signature>\n`;
}

/**
 * An e-Fatura in UBL: parties, lines, taxes, a signature, and the issuer's style sheet as an embedded object. Everything
 * but the style sheet is a few kilobytes of very regular XML; the style sheet is most of the file.
 */

import type { FileWriter } from "../file-writer.ts";
import { SeededRandom } from "../seeded-random.ts";
import { address, firmName, goodsName, kurus, lira, taxNumber } from "../words.ts";
import { StyleSheets } from "./style-sheet.ts";

export interface Invoice {
  /** Which set of issuers: each set has other style sheets. */
  readonly set: number;
  readonly issuer: number;
  readonly ettn: string;
  /** `2026-09-14`. */
  readonly date: string;
  readonly number: string;
}

/** Most invoices have a handful of lines, a wholesaler's some dozens. */
const lines = { least: 1, most: 48 };

const sheets = new Map<number, StyleSheets>();

export function writeInvoice(out: FileWriter, seed: number, invoice: Invoice): void {
  const random = new SeededRandom(seed, "invoice", invoice.ettn);
  const supplier = new SeededRandom(seed, "issuer", invoice.set, invoice.issuer);
  const known = sheets.get(seed) ?? new StyleSheets(seed);
  sheets.set(seed, known);
  const items = Array.from(
    { length: Math.min(random.between(lines.least, lines.most), random.between(lines.least, lines.most)) },
    () => item(random),
  );
  const total = items.reduce((sum, each) => sum + each.price * each.count, 0);
  out.text(head(invoice, random));
  out.write(known.of(`${invoice.set}-${invoice.issuer}`));
  out.text("</cbc:EmbeddedDocumentBinaryObject></cac:Attachment></cac:AdditionalDocumentReference>\n");
  out.text(signature(random));
  out.text(party("AccountingSupplierParty", supplier, taxNumber(invoice.set * 1000 + invoice.issuer)));
  out.text(party("AccountingCustomerParty", random, taxNumber(random.below(900_000))));
  out.text(taxes(total));
  out.text(items.map((each, index) => line(each, index + 1)).join(""));
  out.text("</Invoice>\n");
}

interface Item {
  readonly name: string;
  readonly count: number;
  readonly price: number;
  readonly code: string;
}

function item(random: SeededRandom): Item {
  return { name: goodsName(random), count: random.between(1, 40), price: kurus(random), code: random.digits(6) };
}

function head({ ettn, date, number }: Invoice, random: SeededRandom): string {
  const time = `${random.between(8, 19)}:${random.between(10, 59)}:${random.between(10, 59)}`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2" xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">
<cbc:UBLVersionID>2.1</cbc:UBLVersionID><cbc:CustomizationID>TR1.2</cbc:CustomizationID><cbc:ProfileID>TICARIFATURA</cbc:ProfileID>
<cbc:ID>${number}</cbc:ID><cbc:CopyIndicator>false</cbc:CopyIndicator><cbc:UUID>${ettn}</cbc:UUID>
<cbc:IssueDate>${date}</cbc:IssueDate><cbc:IssueTime>${time}</cbc:IssueTime><cbc:InvoiceTypeCode>SATIS</cbc:InvoiceTypeCode>
<cbc:DocumentCurrencyCode>TRY</cbc:DocumentCurrencyCode>
<cac:AdditionalDocumentReference><cbc:ID>${ettn}</cbc:ID><cbc:IssueDate>${date}</cbc:IssueDate><cbc:DocumentType>XSLT</cbc:DocumentType>
<cac:Attachment><cbc:EmbeddedDocumentBinaryObject characterSetCode="UTF-8" encodingCode="Base64" filename="${number}.xslt" mimeCode="application/xml">`;
}

/** A signature value is 256 random bytes; the certificate beside it belongs to the issuer and changes once a year. */
function signature(random: SeededRandom): string {
  return `<ext:UBLExtensions><ds:SignatureValue>${random.bytes(256).toString("base64")}</ds:SignatureValue><ds:DigestValue>${random.bytes(32).toString("base64")}</ds:DigestValue></ext:UBLExtensions>\n`;
}

function party(role: string, random: SeededRandom, tax: string): string {
  const { street, city } = address(random);
  return `<cac:${role}><cac:Party><cac:PartyIdentification><cbc:ID schemeID="VKN">${tax}</cbc:ID></cac:PartyIdentification>
<cac:PartyName><cbc:Name>${firmName(random)}</cbc:Name></cac:PartyName><cac:PostalAddress><cbc:StreetName>${street}</cbc:StreetName><cbc:CityName>${city}</cbc:CityName><cac:Country><cbc:Name>Türkiye</cbc:Name></cac:Country></cac:PostalAddress>
<cac:PartyTaxScheme><cac:TaxScheme><cbc:Name>${city} Vergi Dairesi</cbc:Name></cac:TaxScheme></cac:PartyTaxScheme></cac:Party></cac:${role}>
`;
}

function taxes(total: number): string {
  const tax = Math.trunc(total / 5);
  return `<cac:TaxTotal><cbc:TaxAmount currencyID="TRY">${lira(tax)}</cbc:TaxAmount><cac:TaxSubtotal><cbc:TaxableAmount currencyID="TRY">${lira(total)}</cbc:TaxableAmount><cbc:TaxAmount currencyID="TRY">${lira(tax)}</cbc:TaxAmount><cbc:Percent>20</cbc:Percent></cac:TaxSubtotal></cac:TaxTotal>
<cac:LegalMonetaryTotal><cbc:LineExtensionAmount currencyID="TRY">${lira(total)}</cbc:LineExtensionAmount><cbc:PayableAmount currencyID="TRY">${lira(total + tax)}</cbc:PayableAmount></cac:LegalMonetaryTotal>
`;
}

function line({ name, count, price, code }: Item, number: number): string {
  const amount = lira(price * count);
  return `<cac:InvoiceLine><cbc:ID>${number}</cbc:ID><cbc:InvoicedQuantity unitCode="C62">${count}</cbc:InvoicedQuantity><cbc:LineExtensionAmount currencyID="TRY">${amount}</cbc:LineExtensionAmount>
<cac:TaxTotal><cbc:TaxAmount currencyID="TRY">${lira(Math.trunc((price * count) / 5))}</cbc:TaxAmount><cac:TaxSubtotal><cbc:Percent>20</cbc:Percent><cac:TaxCategory><cac:TaxScheme><cbc:Name>KDV</cbc:Name><cbc:TaxTypeCode>0015</cbc:TaxTypeCode></cac:TaxScheme></cac:TaxCategory></cac:TaxSubtotal></cac:TaxTotal>
<cac:Item><cbc:Name>${name}</cbc:Name><cac:SellersItemIdentification><cbc:ID>${code}</cbc:ID></cac:SellersItemIdentification></cac:Item><cac:Price><cbc:PriceAmount currencyID="TRY">${lira(price)}</cbc:PriceAmount></cac:Price></cac:InvoiceLine>
`;
}

/**
 * The style sheet that an issuer embeds in every invoice: an XSLT of about 88 KB, as 117 KB of base64. Issuers start from
 * the sheet of the tax authority, change some pieces, and add a logo and a signature as pictures. The sheets of two
 * issuers are similar, but their base64 differs from the first inserted letter on.
 */

import { SeededRandom } from "../seeded-random.ts";

/** Pieces of the common sheet. */
const pieces = 190;
/** Share of the pieces that an issuer replaces. */
const ownShare = 0.3;

/** Bytes of the pictures of an issuer, which are incompressible. */
const pictureBytes = { least: 9_000, most: 17_000 };

/** Smallest text of a sheet: shorter ones get more rules of the issuer. */
const textBytes = { least: 58_000, most: 70_000 };

const fields = [
  ...["cbc:ID", "cbc:IssueDate", "cbc:InvoiceTypeCode", "cac:AccountingSupplierParty", "cac:AccountingCustomerParty"],
  ...["cac:TaxTotal", "cbc:TaxAmount", "cac:LegalMonetaryTotal", "cbc:PayableAmount", "cac:InvoiceLine", "cbc:Note"],
  ...[
    "cac:Party/cac:PostalAddress",
    "cbc:StreetName",
    "cbc:CityName",
    "cac:PartyTaxScheme",
    "cbc:DocumentCurrencyCode",
  ],
];
const styles = ["lineTable", "budgetContainer", "customerParty", "despatchTable", "notesTable", "ettnTable"];
const properties = ["border-color", "background-color", "font-size", "padding-left", "width", "text-align"];

/** The sheets of a set of issuers, made when first used. */
export class StyleSheets {
  readonly #seed: number;
  readonly #common: readonly string[];
  readonly #known = new Map<string, Buffer>();

  constructor(seed: number) {
    this.#seed = seed;
    const random = new SeededRandom(seed, "style sheet");
    this.#common = Array.from({ length: pieces }, () => piece(random));
  }

  /** An issuer's sheet as base64. */
  of(issuer: string): Buffer {
    const known = this.#known.get(issuer);
    if (known !== undefined) return known;
    const sheet = Buffer.from(Buffer.from(this.#text(issuer), "utf8").toString("base64"), "latin1");
    this.#known.set(issuer, sheet);
    return sheet;
  }

  #text(issuer: string): string {
    const random = new SeededRandom(this.#seed, "style sheet", issuer);
    const parts = ['<?xml version="1.0" encoding="UTF-8"?>\n<xsl:stylesheet version="2.0">\n', css(random)];
    for (const common of this.#common) parts.push(random.chance(ownShare) ? piece(random) : common);
    let length = parts.reduce((sum, part) => sum + part.length, 0);
    const wanted = random.between(textBytes.least, textBytes.most);
    while (length < wanted) {
      const own = piece(random);
      parts.push(own);
      length += own.length;
    }
    const picture = random.bytes(random.between(pictureBytes.least, pictureBytes.most)).toString("base64");
    parts.splice(20, 0, `<img align="middle" src="data:image/jpeg;base64,${picture}"/>\n`);
    return `${parts.join("")}</xsl:stylesheet>\n`;
  }
}

function css(random: SeededRandom): string {
  const rule = () =>
    `#${random.pick(styles)} { ${random.pick(properties)}: ${random.between(1, 99)}px; color: #${random.bytes(3).toString("hex")}; }`;
  return `<style type="text/css">\n${Array.from({ length: 40 }, rule).join("\n")}\n</style>\n`;
}

function piece(random: SeededRandom): string {
  const field = random.pick(fields);
  const width = random.between(40, 800);
  switch (random.below(4)) {
    case 0:
      return `<xsl:for-each select="n1:Invoice/${field}/${random.pick(fields)}">\n  <td id="${random.pick(styles)}Td" width="${width}px" align="left">\n    <xsl:value-of select="${field}[@schemeID='${random.digits(3)}']"/>\n  </td>\n</xsl:for-each>\n`;
    case 1:
      return `<xsl:if test="//n1:Invoice/${field} != '' and ${random.pick(fields)} &gt; ${width}">\n  <tr><td><span style="font-weight:bold;">${label(random)}:&#160;</span></td>\n  <td><xsl:apply-templates select="${field}"/></td></tr>\n</xsl:if>\n`;
    case 2:
      return `<xsl:choose>\n  <xsl:when test="${field}='${random.digits(4)}'"><xsl:text>${label(random)}</xsl:text></xsl:when>\n  <xsl:otherwise><xsl:value-of select="format-number(${field}, '###.##0,00', 'european')"/></xsl:otherwise>\n</xsl:choose>\n`;
    default:
      return `<xsl:template match="${field}" mode="m${random.digits(3)}">\n  <table id="${random.pick(styles)}" width="${width}" border="${random.below(3)}"><xsl:apply-templates/></table>\n</xsl:template>\n`;
  }
}

function label(random: SeededRandom): string {
  const words = [
    "Fatura",
    "Tarihi",
    "Vergi",
    "Dairesi",
    "Toplam",
    "Ödenecek",
    "Tutar",
    "İskonto",
    "Matrah",
    "Sıra",
    "Açıklama",
  ];
  return `${random.pick(words)} ${random.pick(words)} ${random.digits(2)}`;
}

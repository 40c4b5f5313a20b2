/**
 * The style sheet that an issuer embeds in every invoice: an XSLT of about 88 KB, as 117 KB of base64. Issuers start from
 * the tax authority's sheet and make it their own: they change some pieces, add a logo and a signature as pictures. Two
 * issuers' sheets are alike to the eye, yet base64 makes them different from the first inserted letter on.
 */

import { Dice } from "../dice.ts";

/** Pieces of the common sheet. */
const pieces = 190;
/** What an issuer replaces by its own wording. */
const ownShare = 0.3;

/** Bytes of an issuer's pictures: of this much of a sheet no compressor makes less. */
const pictureBytes = { least: 9_000, most: 17_000 };

/** Text of a sheet of an issuer, at least: shorter ones are filled up with rules of the issuer's own. */
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

/** The sheets of a set of issuers, made when first asked for. */
export class StyleSheets {
  readonly #seed: number;
  readonly #common: readonly string[];
  readonly #known = new Map<string, Buffer>();

  constructor(seed: number) {
    this.#seed = seed;
    const dice = new Dice(seed, "style sheet");
    this.#common = Array.from({ length: pieces }, () => piece(dice));
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
    const dice = new Dice(this.#seed, "style sheet", issuer);
    const parts = ['<?xml version="1.0" encoding="UTF-8"?>\n<xsl:stylesheet version="2.0">\n', css(dice)];
    for (const common of this.#common) parts.push(dice.chance(ownShare) ? piece(dice) : common);
    let length = parts.reduce((sum, part) => sum + part.length, 0);
    const wanted = dice.between(textBytes.least, textBytes.most);
    while (length < wanted) {
      const own = piece(dice);
      parts.push(own);
      length += own.length;
    }
    const picture = dice.bytes(dice.between(pictureBytes.least, pictureBytes.most)).toString("base64");
    parts.splice(20, 0, `<img align="middle" src="data:image/jpeg;base64,${picture}"/>\n`);
    return `${parts.join("")}</xsl:stylesheet>\n`;
  }
}

function css(dice: Dice): string {
  const rule = () =>
    `#${dice.pick(styles)} { ${dice.pick(properties)}: ${dice.between(1, 99)}px; color: #${dice.bytes(3).toString("hex")}; }`;
  return `<style type="text/css">\n${Array.from({ length: 40 }, rule).join("\n")}\n</style>\n`;
}

function piece(dice: Dice): string {
  const field = dice.pick(fields);
  const width = dice.between(40, 800);
  switch (dice.below(4)) {
    case 0:
      return `<xsl:for-each select="n1:Invoice/${field}/${dice.pick(fields)}">\n  <td id="${dice.pick(styles)}Td" width="${width}px" align="left">\n    <xsl:value-of select="${field}[@schemeID='${dice.digits(3)}']"/>\n  </td>\n</xsl:for-each>\n`;
    case 1:
      return `<xsl:if test="//n1:Invoice/${field} != '' and ${dice.pick(fields)} &gt; ${width}">\n  <tr><td><span style="font-weight:bold;">${label(dice)}:&#160;</span></td>\n  <td><xsl:apply-templates select="${field}"/></td></tr>\n</xsl:if>\n`;
    case 2:
      return `<xsl:choose>\n  <xsl:when test="${field}='${dice.digits(4)}'"><xsl:text>${label(dice)}</xsl:text></xsl:when>\n  <xsl:otherwise><xsl:value-of select="format-number(${field}, '###.##0,00', 'european')"/></xsl:otherwise>\n</xsl:choose>\n`;
    default:
      return `<xsl:template match="${field}" mode="m${dice.digits(3)}">\n  <table id="${dice.pick(styles)}" width="${width}" border="${dice.below(3)}"><xsl:apply-templates/></table>\n</xsl:template>\n`;
  }
}

function label(dice: Dice): string {
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
  return `${dice.pick(words)} ${dice.pick(words)} ${dice.digits(2)}`;
}

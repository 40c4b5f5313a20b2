/**
 * The guides beside the reference: Markdown files in `guides/`, one per language, rendered once. A link in a guide names what it
 * leads to (`operation:auth.login`, `error:rate_limited`, `guide:limits`, `reference:`, `errors:`). A name that does not exist
 * is an error, so that no guide leads nowhere.
 */

import { readFileSync } from "node:fs";
import path from "node:path";
import { Marked } from "marked";
import type { Language } from "../kernel/problems.ts";

/** In the order in which a new user reads them. */
export const guideNames = ["sign-in", "first-snapshot", "errors", "limits", "idempotency"] as const;
export type GuideName = (typeof guideNames)[number];

export interface Guide {
  readonly name: GuideName;
  readonly title: string;
  /** Without the title. */
  readonly html: string;
  readonly sections: readonly GuideSection[];
}

export interface GuideSection {
  readonly id: string;
  readonly title: string;
}

/** Where a link of a guide leads. Throws for a name that does not exist. */
export type LinkTarget = (kind: string, name: string) => string;

/** The host in the guides' examples. */
const exampleOrigin = "https://api.example";

/** Renders a guide, with the origin of this service in its examples. */
export function renderGuide(name: GuideName, language: Language, origin: string, target: LinkTarget): Guide {
  const file = `${name}.${language}.md`;
  const text = readFileSync(path.join(import.meta.dirname, "guides", file), "utf8");
  const sections: GuideSection[] = [];
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text: title }) {
        const id = idOf(title);
        if (depth === 2) sections.push({ id, title });
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
    },
  });
  const [first, ...content] = marked.lexer(text.replaceAll(exampleOrigin, origin));
  if (first?.type !== "heading") throw new Error(`${file} does not begin with its title`);
  void marked.walkTokens(content, (token) => {
    if (token.type === "link") token.href = hrefOf(String(token.href), target);
  });
  return { name, title: String(first.text), html: marked.parser(content), sections };
}

function hrefOf(link: string, target: LinkTarget): string {
  const [kind = "", name = ""] = link.split(":", 2);
  return target(kind, name);
}

/** Letters without their marks, so that the address of a section can be typed. */
function idOf(title: string): string {
  const letters = title.toLocaleLowerCase("tr").replaceAll("ı", "i").normalize("NFD").replaceAll(/\p{M}/gu, "");
  return letters.replaceAll(/[^a-z0-9]+/g, "-").replaceAll(/^-|-$/g, "");
}

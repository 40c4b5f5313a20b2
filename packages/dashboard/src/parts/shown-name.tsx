/**
 * Names that customers or machines chose. Characters that turn the direction of text or are invisible could make a name look
 * like another one, so each is shown as a mark with its number. The name stands isolated from the text around it.
 */

import { Fragment } from "react";

/** Control and format characters, line separators, and selectors of variants. */
const hiddenCharacters = /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|[\u{fe00}-\u{fe0f}]|[\u{e0100}-\u{e01ef}]/gu;

/** The name with marks in place of hidden characters, as text. */
export function visibleName(name: string): string {
  return name.replaceAll(hiddenCharacters, (character) => `⟦${numberOf(character)}⟧`);
}

export function ShownName({ name, className }: { readonly name: string; readonly className?: string }) {
  const parts = name.split(hiddenCharacters);
  if (parts.length === 1) return <bdi className={className}>{name}</bdi>;
  const found = [...(name.match(hiddenCharacters) ?? []), ""];
  // The parts of one name never change their order, so their places are their keys.
  const pieces = parts.map((part, at) => ({ key: `${at}`, part, character: found[at] ?? "" }));
  return (
    <bdi className={className}>
      {pieces.map(({ key, part, character }) => (
        <Fragment key={key}>
          {part}
          {character !== "" && <Mark of={character} />}
        </Fragment>
      ))}
    </bdi>
  );
}

function Mark({ of }: { readonly of: string }) {
  return <span className="hidden-character">{numberOf(of)}</span>;
}

function numberOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

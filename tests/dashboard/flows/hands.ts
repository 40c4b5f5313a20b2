/**
 * How a person works on a page: with a mouse, or with the keyboard alone. The keyboard's hand moves by Tab and the arrows until what it
 * wants has the focus, so it fails where a person would not get there: what cannot be reached, what keeps the focus, what hides it.
 */

import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";

export interface Hand {
  /** A button, a link, or another thing that is pressed. */
  press(target: Locator): Promise<void>;
  /** Writes into a field, in place of what is there. */
  type(field: Locator, text: string): Promise<void>;
  /** A box to tick. */
  tick(box: Locator): Promise<void>;
  /** One of several radio buttons. */
  pick(radio: Locator): Promise<void>;
  /** An option of a select. */
  choose(select: Locator, option: string): Promise<void>;
  /** Goes to it and does nothing yet. */
  reach(target: Locator): Promise<void>;
}

/** Longer texts are pasted. */
const maxTyped = 80;

async function write(page: Page, text: string): Promise<void> {
  await page.keyboard.press("ControlOrMeta+a");
  if (text.length > maxTyped) await page.keyboard.insertText(text);
  else await page.keyboard.type(text);
}

export function mouseOf(page: Page): Hand {
  const click = (target: Locator) => target.click();
  return {
    press: click,
    async type(field, text) {
      await click(field);
      await write(page, text);
    },
    tick: click,
    // The button itself is one pixel; people click on its text.
    pick: (radio) => click(radio.locator("xpath=ancestor::label")),
    async choose(select, option) {
      await select.selectOption({ label: option });
    },
    reach: (target) => target.hover(),
  };
}

/** More stops than any of our screens has. */
const maxStops = 400;

/** As much of the browser's elements as the functions below use; they run in the page. */
interface PageElement {
  readonly type?: string;
  readonly name?: string;
  readonly parentElement: PageElement | null;
  readonly outerHTML: string;
  readonly options: readonly { readonly label: string }[];
  readonly selectedIndex: number;
  closest(selector: string): PageElement | null;
  matches(selector: string): boolean;
  contains(other: PageElement): boolean;
  compareDocumentPosition(other: PageElement): number;
  getBoundingClientRect(): {
    readonly left: number;
    readonly top: number;
    readonly width: number;
    readonly height: number;
  };
}
declare const document: {
  readonly activeElement: PageElement | null;
  readonly body: PageElement;
  elementFromPoint(x: number, y: number): PageElement | null;
};

/** What a function says about an element of the page. */
async function ask<T>(target: Locator, question: (element: PageElement) => T): Promise<T> {
  return (await target.evaluate(question as (element: unknown) => T)) as T;
}

export const optionsOf = (select: Locator): Promise<readonly string[]> =>
  ask(select, (list) => [...list.options].map(({ label }) => label));

/** Where the focus is, seen from an element: on it, on a radio button of its group, before it, behind it, or nowhere. */
function whereIsFocus(wanted: PageElement): string {
  const at = document.activeElement;
  if (at === wanted) return "there";
  if (at === null || at === document.body) return wanted.closest("main") === null ? "nowhere" : "outside";
  if (wanted.type === "radio" && at.type === "radio" && at.name === wanted.name) return "group";
  // 4: it follows.
  return (wanted.compareDocumentPosition(at) & 4) === 0 ? "before" : "behind";
}

/** Whether the skip link has the focus. */
const isOnSkip = "document.activeElement?.matches('a.skip') ?? false";

/** What lies over an element that has the focus; null where a person sees it. */
function whatHides(focused: PageElement): string | null {
  const shown = (focused.matches(".sr-only, .code-field") ? focused.parentElement : null) ?? focused;
  const { left, top, width, height } = shown.getBoundingClientRect();
  const over = document.elementFromPoint(left + Math.min(width / 2, 40), top + Math.min(height / 2, 40));
  if (over === null) return "the edge of the window";
  const isSeen = shown.contains(over) || over.contains(shown) || over.closest("label")?.contains(focused) === true;
  return isSeen ? null : over.outerHTML.slice(0, 120);
}

/** Moves the focus to an element by Tab and Shift Tab, and says where it came to: on it, or into its group of radio buttons. */
async function reach(page: Page, target: Locator): Promise<"there" | "group"> {
  await target.waitFor({ state: "attached" });
  for (let stops = 0; stops < maxStops; stops += 1) {
    const where = await ask(target, whereIsFocus);
    if (where === "there" || where === "group") return where;
    await page.keyboard.press(where === "behind" ? "Shift+Tab" : "Tab");
    if (where === "outside" && (await page.evaluate<boolean>(isOnSkip))) await page.keyboard.press("Enter");
  }
  const at = await page.evaluate<string>("document.activeElement?.outerHTML.slice(0, 200)");
  return assert.fail(`the keyboard does not reach ${String(target)}; the focus is on ${at}`);
}

export function keyboardOf(page: Page): Hand {
  const key = (name: string) => page.keyboard.press(name);
  const go = async (target: Locator) => {
    assert.equal(await reach(page, target), "there");
    assert.equal(await ask(target, whatHides), null, `${String(target)} has the focus and is hidden`);
  };
  return {
    async press(target) {
      await go(target);
      await key("Enter");
    },
    async type(field, text) {
      await go(field);
      await write(page, text);
    },
    async tick(box) {
      await go(box);
      await key("Space");
    },
    async pick(radio) {
      await reach(page, radio);
      for (let steps = 0; !(await radio.isChecked()); steps += 1) {
        assert.ok(steps < maxStops, `the arrows do not choose ${String(radio)}`);
        await key("ArrowRight");
      }
    },
    async choose(select, option) {
      await go(select);
      const labels = await optionsOf(select);
      const chosen = () => ask(select, (list) => list.selectedIndex);
      const wanted = labels.indexOf(option);
      assert.ok(wanted >= 0, `${option} is not in ${labels.join()}`);
      for (let [at, steps] = [await chosen(), 0]; at !== wanted; at = await chosen(), steps += 1) {
        assert.ok(steps < maxStops, `the arrows do not choose ${option}`);
        const isBelow = at < wanted;
        await key(isBelow ? "ArrowDown" : "ArrowUp");
      }
    },
    reach: go,
  };
}

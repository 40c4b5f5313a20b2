/** A page whose interactions are measured, and the hand of the person in front of it. */

import type { CDPSession, Locator, Page } from "playwright-core";
import { pageTrace } from "./page-trace.ts";

/** Of one interaction. */
export interface Trace {
  readonly name: string;
  readonly ms: number;
  readonly targetMs: number;
  /** CPU time of the page's main thread meanwhile: other work on the machine does not change it. */
  readonly cpuMs: number;
  readonly longestTaskMs: number;
  readonly requests: readonly { readonly path: string; readonly from: number; readonly to: number }[];
}

/** Of a list that was scrolled. */
export interface Scrolled {
  readonly name: string;
  readonly frames: number;
  readonly blankFrames: number;
  readonly blank: readonly { readonly frame: number; readonly empty: readonly number[] }[];
  readonly longestFrameMs: number;
}

/** A person sees the pointer arrive before the finger goes down: about a fifth of a second. */
const hoverMs = 200;

/** The page is left alone so long before the next input, so that what it reads in the background does not count twice. */
const restMs = 300;

/** Then an interaction counts as one that does not end. */
const longestWaitMs = 30_000;

/** The design: what takes longer is seen as a delay. */
const targetMs = 100;
/** What a person waits for with progress in view: after ten seconds attention goes elsewhere. */
const progressTargetMs = 10_000;
/** The design, for a page that the browser has in its cache. */
const firstPaintTargetMs = 1_000;

export class TracedPage {
  readonly page: Page;
  readonly traces: Trace[] = [];
  readonly scrolls: Scrolled[] = [];
  /** Interactions that did not end. */
  readonly failures: string[] = [];

  readonly #log: (line: string) => void;
  readonly #debugger: CDPSession;

  private constructor(page: Page, session: CDPSession, log: (line: string) => void) {
    this.page = page;
    this.#debugger = session;
    this.#log = log;
  }

  static async open(page: Page, log: (line: string) => void): Promise<TracedPage> {
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    return new TracedPage(page, session, log);
  }

  async prepare(): Promise<void> {
    this.page.setDefaultTimeout(longestWaitMs);
    await this.page.addInitScript(pageTrace);
  }

  /** Loads an address; counted from the request to the paint of what must be there. */
  async load(name: string, url: string, shown: string): Promise<void> {
    await this.#count(name, firstPaintTargetMs, async () => {
      await this.page.goto(url, { waitUntil: "commit" });
      return this.#ended(`benchTrace.load(() => ${shown})`, shown);
    });
    await this.rest();
  }

  /** A click, after the pointer has rested on the place. */
  async click(name: string, place: Locator, shown: string): Promise<void> {
    await this.attempt(name, async () => {
      await this.#point(place);
      await this.#measure(name, "click", shown, async () => {
        await this.page.mouse.down();
        await this.page.mouse.up();
      });
    });
  }

  async point(name: string, place: Locator, shown: string): Promise<void> {
    await this.attempt(name, async () => {
      const { x, y } = await middleOf(place);
      await this.#measure(name, "pointermove", shown, () => this.page.mouse.move(x, y));
    });
  }

  /** A key, or keys together as `Control+k`. */
  async press(name: string, key: string, shown: string): Promise<void> {
    await this.attempt(name, () => this.#measure(name, "keydown", shown, () => this.page.keyboard.press(key)));
  }

  /** Something that the page does after an input, with progress in view. */
  async wait(name: string, shown: string): Promise<void> {
    await this.attempt(name, async () => {
      await this.#count(name, progressTargetMs, () => this.#ended(`benchTrace.wait(() => ${shown})`, shown));
      await this.rest();
    });
  }

  /** A list that moves by so much in every frame, as under a fast wheel: every frame must have a row at every height. */
  async scroll(name: string, box: string, rows: string, pixels: number, perFrame: number): Promise<void> {
    await this.attempt(`${name}: scroll`, async () => {
      const place = `() => document.querySelector(${JSON.stringify(box)})`;
      const expression = `benchTrace.scroll(${place}, ${JSON.stringify(rows)}, ${pixels}, ${perFrame})`;
      this.scrolls.push({ name, ...(await this.page.evaluate<Omit<Scrolled, "name">>(expression)) });
      await this.rest();
    });
  }

  /** Until the page has nothing to read, but for the wait for events. */
  async rest(): Promise<void> {
    await this.page.waitForTimeout(restMs);
  }

  /** One interaction that does not end is told at the end; the others are measured all the same. */
  async attempt(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const failure = `${name}: ${(error as Error).message.split("\n")[0]}`;
      this.failures.push(failure);
      this.#log(failure);
    }
  }

  async #point(place: Locator): Promise<void> {
    await place.scrollIntoViewIfNeeded({ timeout: longestWaitMs });
    const { x, y } = await middleOf(place);
    await this.page.mouse.move(x, y);
    await this.page.waitForTimeout(hoverMs);
  }

  async #measure(name: string, kind: string, shown: string, input: () => Promise<void>): Promise<void> {
    await this.page.evaluate(`benchTrace.arm(${JSON.stringify(kind)}, () => ${shown})`);
    await this.#count(name, targetMs, async () => {
      await input();
      return this.#ended("benchTrace.result()", shown);
    });
    await this.rest();
  }

  async #ended(expression: string, shown: string): Promise<unknown> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`it did not come: ${shown}`)), longestWaitMs);
    const found = this.page.evaluate(expression);
    // The page may go on while nobody waits for it any more.
    found.catch(() => undefined);
    return await Promise.race([found, late]).finally(() => clearTimeout(timer));
  }

  async #count(name: string, target: number, work: () => Promise<unknown>): Promise<void> {
    const before = await this.#cpuMs();
    const found = (await work()) as Omit<Trace, "name" | "targetMs" | "cpuMs">;
    this.traces.push({ name, targetMs: target, cpuMs: (await this.#cpuMs()) - before, ...found });
  }

  /** Of the tasks of the page's main thread so far. */
  async #cpuMs(): Promise<number> {
    const { metrics } = await this.#debugger.send("Performance.getMetrics");
    const seconds = metrics.find(({ name }) => name === "TaskDuration")?.value;
    if (seconds === undefined) throw new Error("the browser does not count its tasks");
    return seconds * 1000;
  }
}

async function middleOf(place: Locator): Promise<{ readonly x: number; readonly y: number }> {
  const box = await place.boundingBox({ timeout: longestWaitMs });
  if (box === null) throw new Error(`${place} is not on the page`);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

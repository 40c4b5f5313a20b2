/**
 * The eight flows of the dashboard's design, with the real service, database, receiver and agent. `npm test` runs each once, so that every pair of
 * language, input, theme and width comes; EMANET_FLOW_RUNS=3 (CI) runs each three times, so that every flow meets all of them; `npm run test:heavy` runs
 * all 24 combinations of each.
 */
// long: 30 s

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { fileBack, redTaxpayer } from "./flows/files.ts";
import { firstRun } from "./flows/first-run.ts";
import { staff, teamAndSecurity, usageAndLimits } from "./flows/people.ts";
import { type Bench, openBench, type Run, startBenchService } from "./flows/stage.ts";
import { auditTrail, failingWebhook } from "./flows/trust.ts";
import { advance, sharedBrowser } from "./testing.ts";

const flows: Readonly<Record<string, (bench: Bench, run: Run) => Promise<void>>> = {
  "first run": firstRun,
  "a file back": fileBack,
  "a red taxpayer": redTaxpayer,
  "a failing webhook": failingWebhook,
  "the audit trail": auditTrail,
  "team and security": teamAndSecurity,
  "usage and limits": usageAndLimits,
  staff,
};

const languages = ["tr", "en"] as const;
const inputs = ["mouse", "keyboard"] as const;
const themes = ["light", "dark"] as const;
const widths = [1440, 768, 390] as const;

const allRuns: readonly Run[] = languages.flatMap((language) =>
  inputs.flatMap((input) => themes.flatMap((theme) => widths.map((width) => ({ language, input, theme, width })))),
);

/** Three runs of a flow: each width, and both of everything else. Flows take the eight tables in turn, so that all pairs come. */
function threeRuns(flow: number): readonly Run[] {
  const bit = (at: number, of: number): 0 | 1 => (((flow >> of) + at) % 2 === 0 ? 0 : 1);
  return widths.map((width, at) => ({
    language: languages[bit(at, 0)],
    input: inputs[bit(at, 1)],
    theme: themes[bit(at, 2)],
    width,
  }));
}

/** One of the three, each flow at another width. */
const oneRun = (flow: number): readonly Run[] => threeRuns(flow).filter((_, at) => at === flow % widths.length);

const isHeavy = scaled(0, 1) === 1;
const { EMANET_FLOW_RUNS = isHeavy ? "24" : "1" } = process.env;
const sets: Readonly<Record<string, (flow: number) => readonly Run[]>> = {
  1: oneRun,
  3: threeRuns,
  24: () => allRuns,
};
const runsOf = sets[EMANET_FLOW_RUNS] ?? assert.fail("EMANET_FLOW_RUNS is 1, 3 or 24");

/** Pairs of values of two different factors: those that are wanted and do not come in a set of runs. */
function missingPairs(factors: readonly (readonly string[])[], runs: readonly (readonly string[])[]): string[] {
  const pairs = (values: readonly string[]) =>
    values.flatMap((one, at) => values.slice(at + 1).map((other) => `${one}+${other}`));
  const found = new Set(runs.flatMap(pairs));
  const wanted = factors.flatMap((some, at) =>
    factors.slice(at + 1).flatMap((others) => some.flatMap((one) => others.map((other) => `${one}+${other}`))),
  );
  return wanted.filter((pair) => !found.has(pair));
}

test("an ordinary run has every pair of language, input, theme and width; three runs of each flow also every flow with each", () => {
  const looks = [languages, inputs, themes, widths.map(String)];
  const names = Object.keys(flows);
  const valuesOf = (run: Run) => Object.values(run).map(String);
  assert.deepEqual(
    missingPairs(
      looks,
      names.flatMap((_, flow) => oneRun(flow).map(valuesOf)),
    ),
    [],
  );
  const three = names.flatMap((name, flow) => threeRuns(flow).map((run) => [name, ...valuesOf(run)]));
  assert.deepEqual(missingPairs([names, ...looks], three), []);
  assert.equal(allRuns.length, 24);
});

/** Between two flows: a person does not meet the limits of a minute. */
const limitsMs = 61_000;

const service = await startBenchService({ after });
const browserFor = sharedBrowser({ after });
let bench: Promise<Bench> | null = null;

Object.entries(flows).forEach(([name, flow], place) => {
  for (const run of runsOf(place)) {
    const { language, input, theme, width } = run;
    test(`${name}: ${language}, ${input}, ${theme}, ${width} px`, async (t) => {
      const browser = await browserFor(t);
      if (browser === undefined) return;
      bench ??= openBench(service, browser, isHeavy);
      const opened = await bench;
      // Flows let the service's time pass before they open a page. One that is still open would ask with a token that has ended by then.
      await opened.owner.page.goto("about:blank");
      await advance(opened.owner.page, service.office, limitsMs);
      await flow(opened, run);
    });
  }
});

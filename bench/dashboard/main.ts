/**
 * `npm run bench:dashboard`: how long a person waits for each interaction with the screens, in an office as large as the design names. A service in its
 * own process, PostgreSQL, Chromium. It prints the time from each input to the paint of what it brings, which interactions take longer than their target,
 * and whether a list that is scrolled ever shows an empty place.
 */

import { parseArgs } from "node:util";
import { type BenchOptions, runBench } from "./bench.ts";
import { markdown, missed } from "./report.ts";
import { type ScaleName, scales } from "./scale.ts";

const help = `npm run --silent bench:dashboard -- [options]

  --scale XS|S|M     XS: 12 taxpayers, within a minute; S: 60 taxpayers, 10 000 files, 50 000 audit records;
                     M (default): 300 taxpayers × 90 nights, a folder of 100 000 files, 1 000 000 audit records
  --rounds N         how often the whole way is walked (medians and maxima are printed)
  --trace FILE       writes Chromium's trace of the last round there
  --requests         prints the requests of every interaction, too`;

const { values } = parseArgs({
  options: {
    ...{ scale: { type: "string", default: "M" }, rounds: { type: "string" }, trace: { type: "string" } },
    ...{ requests: { type: "boolean", default: false }, help: { type: "boolean", short: "h", default: false } },
  },
});

if (values.help) console.log(help);
else if (!Object.hasOwn(scales, values.scale)) {
  console.error(`bench: --scale takes ${Object.keys(scales).join(", ")}`);
  process.exitCode = 1;
} else {
  const scale = scales[values.scale as ScaleName];
  const options: BenchOptions = {
    ...{ scale, rounds: Number(values.rounds ?? scale.rounds), log: (line) => console.error(`bench: ${line}`) },
    ...(values.trace !== undefined && { traceFile: values.trace }),
  };
  const result = await runBench(options);
  console.log(markdown(result, scale, { showsRequests: values.requests }));
  process.exitCode = missed(result).length > 0 ? 2 : 0;
}

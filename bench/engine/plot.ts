/** Plots as SVG, without a library: bars for times, lines for the size of a repository after each night. */

import type { RaceOutcome } from "./race.ts";
import { medianOf, type Phase, phaseTitles, select } from "./records.ts";
import type { SystemName } from "./system.ts";

const colours: Readonly<Record<SystemName, string>> = {
  emanet: "#0b7a75",
  restic: "#d1495b",
  kopia: "#edae49",
  rustic: "#66717e",
};
const plotted: readonly Phase[] = ["first", "unchanged", "night", "restore-first", "restore-kept", "upkeep", "verify"];

const width = 720;
const labelWidth = 200;
const barHeight = 14;
const groupGap = 12;

/** Wall seconds of each phase, a bar per program, scaled phase by phase to the slowest. */
export function wallPlot({ results }: RaceOutcome, names: readonly SystemName[]): string {
  const shapes: string[] = [];
  let y = 40;
  for (const phase of plotted) {
    const key = { phase, part: "tree", ...(phase === "night" ? { day: 1 } : {}) };
    const walls = names.flatMap((system) => {
      const wall = medianOf(results, "wallSeconds", { ...key, system });
      return wall === null ? [] : [{ system, wall }];
    });
    if (walls.length === 0) continue;
    const slowest = Math.max(...walls.map(({ wall }) => wall));
    shapes.push(label(0, y + barHeight, phase === "night" ? "night 1" : phaseTitles[phase]));
    for (const { system, wall } of walls) {
      const length = (wall / slowest) * (width - labelWidth - 120);
      shapes.push(
        `<rect x="${labelWidth}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" fill="${colours[system]}"/>`,
      );
      shapes.push(label(labelWidth + length + 6, y + barHeight - 2, `${wall.toFixed(2)} s ${system}`));
      y += barHeight + 2;
    }
    y += groupGap;
  }
  return svg("Wall time by phase, whole tree", y, shapes);
}

/** Megabytes in the repository after each night, a line per program. */
export function storedPlot({ results }: RaceOutcome, names: readonly SystemName[]): string {
  const height = 360;
  const nights = select(results, { part: "tree", run: 1 } as { part: string }).filter(
    ({ phase, run }) => run === 1 && (phase === "first" || phase === "night"),
  );
  const most = Math.max(1, ...nights.map(({ storedBytes }) => storedBytes));
  const lastDay = Math.max(1, ...nights.map(({ day }) => day));
  const x = (day: number) => 60 + (day / lastDay) * (width - 160);
  const y = (bytes: number) => height - 30 - (bytes / most) * (height - 90);
  const lines = names.flatMap((system) => {
    const own = nights.filter((result) => result.system === system);
    const last = own.at(-1);
    if (last === undefined) return [];
    const points = own.map(({ day, storedBytes }) => `${x(day).toFixed(1)},${y(storedBytes).toFixed(1)}`).join(" ");
    return [
      `<polyline points="${points}" fill="none" stroke="${colours[system]}" stroke-width="2"/>`,
      label(x(last.day) + 6, y(last.storedBytes), `${system} ${(last.storedBytes / 1e6).toFixed(0)} MB`),
    ];
  });
  const axis = [
    `<path d="M60 50 V${height - 30} H${width - 100}" fill="none" stroke="#888"/>`,
    label(4, y(most) + 4, `${(most / 1e6).toFixed(0)} MB`),
    label(60, height - 12, "night 0"),
    label(x(lastDay) - 30, height - 12, `night ${lastDay}`),
  ];
  return svg("Repository by night, whole tree", height, [...axis, ...lines]);
}

function label(x: number, y: number, text: string): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}">${text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</text>`;
}

function svg(title: string, height: number, shapes: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="12">
<title>${title}</title>
<rect width="100%" height="100%" fill="#fff"/>
<text x="0" y="18" font-size="15">${title}</text>
${shapes.join("\n")}
</svg>
`;
}

/** The nights of one taxpayer in a row: one path per state. The night under the pointer is named in a tip. */

import { type PointerEvent, useState } from "react";
import { addDays, shortDay } from "../format.ts";
import { Glyph, type Status, statusOf } from "../parts/glyph.tsx";
import { t } from "../strings/index.ts";
import { roundedRect } from "./squares.ts";

const pitch = 14;
const cell = { width: 10.6, height: 19, radius: 2.4 } as const;
const dotRadius = 1.3;

/** The width of so many nights. */
export const heatWidth = (nights: number): number => Math.max(0, nights * pitch - (pitch - cell.width));

interface HeatRowProps {
  readonly states: readonly string[];
  /** The first day. */
  readonly from: string;
  readonly label: string;
}

export function HeatRow({ states, from, label }: HeatRowProps) {
  const [chosen, setChosen] = useState<number | null>(null);
  const choose = ({ nativeEvent }: PointerEvent) =>
    setChosen(Math.min(states.length - 1, Math.max(0, Math.floor(nativeEvent.offsetX / pitch))));
  const width = heatWidth(states.length);
  return (
    <div className="heat" onPointerMove={choose} onPointerLeave={() => setChosen(null)}>
      <svg width={width} height={cell.height} viewBox={`0 0 ${width} ${cell.height}`} role="img" aria-label={label}>
        <Cells states={states} />
      </svg>
      {chosen !== null && (
        <div className="tip heat-tip" style={{ right: Math.max(0, width - chosen * pitch - 40) }} aria-hidden="true">
          <Glyph status={statusOf(states[chosen])} size={13} />
          <strong>{t.night[statusOf(states[chosen])]}</strong>
          <span>{shortDay(`${addDays(from, chosen)}T09:00:00Z`)}</span>
        </div>
      )}
    </div>
  );
}

const order: readonly Status[] = ["none", "unchanged", "ok", "running", "late", "failed"];

function Cells({ states }: { readonly states: readonly string[] }) {
  return order.map((status) => {
    const places = states.flatMap((state, at) => (statusOf(state) === status ? [at] : []));
    return places.length === 0 ? null : <StateCells key={status} status={status} places={places} />;
  });
}

function StateCells({ status, places }: { readonly status: Status; readonly places: readonly number[] }) {
  const { width, height, radius } = cell;
  if (status === "none") {
    const dot = (x: number) =>
      `M${x - dotRadius} ${height / 2}a${dotRadius} ${dotRadius} 0 1 0 ${2 * dotRadius} 0a${dotRadius} ${dotRadius} 0 1 0 ${-2 * dotRadius} 0`;
    return <path className="heat-none" d={places.map((at) => dot(at * pitch + width / 2)).join("")} />;
  }
  const inset = status === "ok" || status === "failed" ? 0 : 0.7;
  const boxes = places.map((at) =>
    roundedRect(at * pitch + inset, inset, width - 2 * inset, height - 2 * inset, radius - inset / 2),
  );
  const marks = places.map((at) => {
    const [x, y] = [at * pitch + width / 2, height / 2];
    if (status === "failed") return `M${x - 2} ${y - 2}l4 4m0-4l-4 4`;
    return status === "late" ? roundedRect(at * pitch + 0.7, height / 2, width - 1.4, height / 2 - 0.7, 1.4) : "";
  });
  return (
    <g className={`heat-cells heat-${status}`}>
      <path className="heat-cell" d={boxes.join("")} />
      {marks.some((mark) => mark !== "") && <path className="heat-mark" d={marks.join("")} />}
    </g>
  );
}

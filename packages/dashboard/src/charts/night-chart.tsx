/**
 * The chart of the night: a square for each taxpayer or source. One path per state, not one node per square. With the keyboard a
 * square is chosen by the arrows; its name and state are read. The table has the same.
 */

import type { Nights } from "@emanet/client/source";
import { type KeyboardEvent, type PointerEvent, useState } from "react";
import { Glyph, type Status, statusOf } from "../parts/glyph.tsx";
import { visibleName } from "../parts/shown-name.tsx";
import { t } from "../strings/index.ts";
import { roundedSquare } from "./squares.ts";
import { useWidth } from "./width.ts";

interface BoardProps {
  readonly rows: readonly Nights[];
  readonly label: string;
  readonly onOpen: (row: Nights) => void;
}

interface Grid {
  readonly columns: number;
  readonly pitch: number;
  readonly side: number;
}

/** Below this width the squares are those of a phone. */
const narrowWidth = 480;

/** As many columns as fit; the squares then fill the width exactly. */
function gridOf(width: number): Grid {
  const [wanted, gap] = width < narrowWidth ? [17.2, 5.2] : [26.7, 5.8];
  const columns = Math.max(1, Math.floor((width + gap) / wanted));
  const pitch = (width + gap) / columns;
  return { columns, pitch, side: pitch - gap };
}

export function NightBoard({ rows, label, onOpen }: BoardProps) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const [chosen, setChosen] = useState<number | null>(null);
  const grid = gridOf(Math.max(width, 1));
  const lines = Math.ceil(rows.length / grid.columns);
  const height = Math.max(0, lines * grid.pitch - (grid.pitch - grid.side));
  const at = chosen === null ? undefined : rows[chosen];
  const open = () => {
    if (at !== undefined) onOpen(at);
  };
  const onKey = (event: KeyboardEvent) => {
    const next = moved(event.key, chosen, grid.columns, rows.length);
    if (event.key === "Enter") open();
    if (next === null) return;
    event.preventDefault();
    setChosen(next);
  };
  return (
    <div ref={ref} className="night-grid">
      {/* biome-ignore lint/a11y/useSemanticElements: it is no list of fields; the table beside it has the semantics */}
      <div
        role="group"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrows choose a square
        tabIndex={0}
        className="night-grid-focus"
        aria-label={`${label}. ${t.overview.boardHelp}`}
        onKeyDown={onKey}
        onFocus={() => setChosen(chosen ?? 0)}
        onBlur={() => setChosen(null)}
        onPointerMove={(event) => setChosen(pointed(event, grid, rows.length))}
        onPointerLeave={() => setChosen(null)}
        onClick={open}
      >
        <svg width="100%" height={height} aria-hidden="true">
          <Squares rows={rows} grid={grid} />
          {chosen !== null && <Ring at={chosen} grid={grid} />}
        </svg>
        {at !== undefined && chosen !== null && <Tip row={at} at={chosen} grid={grid} width={width} />}
      </div>
      <p className="sr-only" aria-live="polite">
        {at === undefined ? "" : `${visibleName(at.name)}: ${t.night[statusOf(at.states.at(-1))]}`}
      </p>
    </div>
  );
}

function moved(key: string, from: number | null, columns: number, count: number): number | null {
  const steps: Readonly<Record<string, number>> = {
    ...{ ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns },
  };
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  const step = steps[key];
  return step === undefined ? null : Math.min(count - 1, Math.max(0, (from ?? 0) + step));
}

function pointed({ nativeEvent }: PointerEvent, { columns, pitch }: Grid, count: number): number | null {
  const column = Math.min(columns - 1, Math.floor(nativeEvent.offsetX / pitch));
  const at = Math.floor(nativeEvent.offsetY / pitch) * columns + column;
  return at >= 0 && at < count ? at : null;
}

const order: readonly Status[] = ["none", "unchanged", "ok", "running", "late", "failed"];

function Squares({ rows, grid }: { readonly rows: readonly Nights[]; readonly grid: Grid }) {
  const places = new Map<Status, number[]>();
  rows.forEach((row, at) => {
    const status = statusOf(row.states.at(-1));
    places.set(status, [...(places.get(status) ?? []), at]);
  });
  return order.map((status) => {
    const all = places.get(status);
    return all === undefined ? null : <StateSquares key={status} status={status} places={all} grid={grid} />;
  });
}

interface StateSquaresProps {
  readonly status: Status;
  readonly places: readonly number[];
  readonly grid: Grid;
}

/** Marks inside the squares: a cross, and the hands of a clock. */
function StateSquares({ status, places, grid }: StateSquaresProps) {
  const { side } = grid;
  const isOutlined = status !== "ok" && status !== "failed";
  const inset = isOutlined ? 0.75 : 0;
  const radius = side * 0.22;
  const corner = (at: number) => cornerOf(at, grid);
  const squares = places.map((at) => {
    const { x, y } = corner(at);
    return roundedSquare(x + inset, y + inset, side - 2 * inset, radius);
  });
  const marks = places.map((at) => {
    const { x, y } = corner(at);
    const [middleX, middleY, arm] = [x + side / 2, y + side / 2, side * 0.2];
    if (status === "failed")
      return `M${middleX - arm} ${middleY - arm}l${2 * arm} ${2 * arm}m0 ${-2 * arm}l${-2 * arm} ${2 * arm}`;
    return status === "late" ? `M${middleX} ${middleY - 1.2 * arm}v${1.3 * arm}l${0.9 * arm} ${0.9 * arm}` : "";
  });
  const halos = status === "failed" ? places.map((at) => ringPath(corner(at), side, 2, radius)) : [];
  return (
    <g className={`squares squares-${status}`}>
      <path className="square" d={squares.join("")} />
      {halos.length > 0 && <path className="square-halo" d={halos.join("")} />}
      {marks.some((mark) => mark !== "") && <path className="square-mark" d={marks.join("")} />}
    </g>
  );
}

function cornerOf(at: number, { columns, pitch }: Grid): { readonly x: number; readonly y: number } {
  return { x: (at % columns) * pitch, y: Math.floor(at / columns) * pitch };
}

function ringPath(
  { x, y }: { readonly x: number; readonly y: number },
  side: number,
  out: number,
  radius: number,
): string {
  return roundedSquare(x - out, y - out, side + 2 * out, radius + out / 2);
}

function Ring({ at, grid }: { readonly at: number; readonly grid: Grid }) {
  return <path className="square-ring" d={ringPath(cornerOf(at, grid), grid.side, 2.5, grid.side * 0.22)} />;
}

interface TipProps {
  readonly row: Nights;
  readonly at: number;
  readonly grid: Grid;
  readonly width: number;
}

/** Over the square, or beside it near the right edge. */
function Tip({ row, at, grid, width }: TipProps) {
  const { x, y } = cornerOf(at, grid);
  const status = statusOf(row.states.at(-1));
  const isRight = x > width * 0.6;
  const place = isRight ? { right: width - x - grid.side } : { left: x };
  return (
    <div className="tip" style={{ ...place, top: y + grid.side + 8 }} aria-hidden="true">
      <Glyph status={status} size={13} />
      <strong>{visibleName(row.name)}</strong>
      <span>{t.night[status]}</span>
    </div>
  );
}

/** Stored bytes against the bytes of the files, by day; the gap between them is what deduplication saves, hatched. */

import { type PointerEvent, useId, useState } from "react";
import { dayOfMonth, shortDay, size, sizeParts } from "../format.ts";
import { t } from "../strings/index.ts";
import { useWidth } from "./width.ts";

export interface Point {
  readonly day: string;
  readonly stored: number;
  readonly size: number;
}

const height = 268;
const box = { left: 44, right: 4, top: 8, bottom: 26 } as const;
/** Quarters of the scale. */
const horizontalLines = 4;
/** As many as stand beside each other on a phone. */
const dayLabels = 5;

interface Scale {
  readonly x: (at: number) => number;
  readonly y: (bytes: number) => number;
  readonly top: number;
}

/** The highest line is a round number above the data: 1, 2, 3, 4, 6 or 8 of a power of ten, so that quarters are round. */
function topOf(highest: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(highest, 1)));
  const steps = [1, 1.2, 2, 4, 6, 8, 10].map((step) => step * power);
  return steps.find((step) => step >= highest) ?? 10 * power;
}

function scaleOf(points: readonly Point[], width: number): Scale {
  const top = topOf(Math.max(...points.map(({ size: files, stored }) => Math.max(files, stored))));
  const across = width - box.left - box.right;
  const down = height - box.top - box.bottom;
  return {
    top,
    x: (at) => box.left + (points.length === 1 ? 0 : (at / (points.length - 1)) * across),
    y: (bytes) => box.top + down * (1 - bytes / top),
  };
}

export function AreaChart({ points, label }: { readonly points: readonly Point[]; readonly label: string }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const [chosen, setChosen] = useState<number | null>(null);
  const id = useId();
  const scale = scaleOf(points, Math.max(width, box.left + box.right + 1));
  const choose = (event: PointerEvent) => {
    const share = (event.nativeEvent.offsetX - box.left) / Math.max(1, width - box.left - box.right);
    setChosen(Math.min(points.length - 1, Math.max(0, Math.round(share * (points.length - 1)))));
  };
  const point = chosen === null ? undefined : points[chosen];
  return (
    <div ref={ref} className="area-chart" onPointerMove={choose} onPointerLeave={() => setChosen(null)}>
      <svg width="100%" height={height} role="img" aria-label={label}>
        <defs>
          <pattern id={`${id}-hatch`} width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <path d="M0 0V7" className="hatch" />
          </pattern>
          <linearGradient id={`${id}-fill`} x1="0" y1="0" x2="0" y2="1">
            <stop offset="0" className="area-stop-top" />
            <stop offset="1" className="area-stop-bottom" />
          </linearGradient>
        </defs>
        <Lines scale={scale} width={width} />
        <Days points={points} scale={scale} />
        <path d={band(points, scale)} fill={`url(#${id}-hatch)`} />
        <path
          d={`${line(points, scale, "stored")}L${scale.x(points.length - 1)} ${scale.y(0)}H${box.left}Z`}
          fill={`url(#${id}-fill)`}
        />
        <path className="line-size" d={line(points, scale, "size")} />
        <path className="line-stored" d={line(points, scale, "stored")} />
        {point !== undefined && chosen !== null && <Cursor point={point} x={scale.x(chosen)} scale={scale} />}
      </svg>
      {point !== undefined && chosen !== null && (
        <div
          className="tip tip-column"
          style={{
            left: Math.max(0, scale.x(chosen) > width / 2 ? scale.x(chosen) - 150 : scale.x(chosen) + 14),
            top: 90,
          }}
          aria-hidden="true"
        >
          <span>{dayOfMonth(`${point.day}T09:00:00Z`)}</span>
          <span>
            {t.overview.storedLine} <strong>{size(point.stored)}</strong>
          </span>
          {point.size > point.stored && (
            <span>
              {t.overview.saved} <strong>{size(point.size - point.stored)}</strong>
            </span>
          )}
        </div>
      )}
    </div>
  );
}

function line(points: readonly Point[], { x, y }: Scale, field: "stored" | "size"): string {
  return points.map((point, at) => `${at === 0 ? "M" : "L"}${x(at).toFixed(1)} ${y(point[field]).toFixed(1)}`).join("");
}

/** Between the two lines. */
function band(points: readonly Point[], scale: Scale): string {
  const back = points.map((point, at) => `L${scale.x(at).toFixed(1)} ${scale.y(point.stored).toFixed(1)}`).reverse();
  return `${line(points, scale, "size")}${back.join("")}Z`;
}

function Lines({ scale, width }: { readonly scale: Scale; readonly width: number }) {
  const unit = sizeParts(scale.top).unit;
  return Array.from({ length: horizontalLines + 1 }, (_, at) => {
    const bytes = (scale.top * at) / horizontalLines;
    const y = scale.y(bytes);
    const text = bytes === 0 ? "0" : sizeParts(bytes).unit === unit ? `${sizeParts(bytes).value} ${unit}` : size(bytes);
    return (
      <g key={text}>
        <path className="grid-line" d={`M${box.left} ${y}H${width - box.right}`} />
        <text className="axis" x={box.left - 8} y={y + 4} textAnchor="end">
          {text}
        </text>
      </g>
    );
  });
}

function Days({ points, scale }: { readonly points: readonly Point[]; readonly scale: Scale }) {
  const step = Math.max(1, Math.ceil(points.length / dayLabels));
  return points.flatMap((point, at) =>
    at % step === 0 && at < points.length - step / 3
      ? [
          <text
            key={point.day}
            className="axis"
            x={scale.x(at)}
            y={height - 6}
            textAnchor={at === 0 ? "start" : "middle"}
          >
            {shortDay(`${point.day}T09:00:00Z`)}
          </text>,
        ]
      : [],
  );
}

function Cursor({ point, x, scale }: { readonly point: Point; readonly x: number; readonly scale: Scale }) {
  return (
    <g className="chart-cursor">
      <path d={`M${x} ${box.top}V${scale.y(0)}`} />
      <circle className="dot-size" cx={x} cy={scale.y(point.size)} r="3.5" />
      <circle className="dot-stored" cx={x} cy={scale.y(point.stored)} r="3.5" />
    </g>
  );
}

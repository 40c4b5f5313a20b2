/** Shapes as parts of a path: one path draws many of them. */

/** A rectangle with round corners. */
export function roundedRect(x: number, y: number, width: number, height: number, radius: number): string {
  const across = width - 2 * radius;
  const down = height - 2 * radius;
  const arc = (dx: number, dy: number) => `a${radius} ${radius} 0 0 1 ${dx} ${dy}`;
  return (
    `M${x + radius} ${y}h${across}${arc(radius, radius)}v${down}${arc(-radius, radius)}` +
    `h${-across}${arc(-radius, -radius)}v${-down}${arc(radius, -radius)}z`
  );
}

export function roundedSquare(x: number, y: number, side: number, radius: number): string {
  return roundedRect(x, y, side, side, radius);
}

/** How much a test does: an everyday amount, or the heavy one that `npm run test:heavy` asks for. */

/** Set to `1` by `tools/test.ts --heavy`. */
const heavyVariable = "EMANET_TEST_HEAVY";

/** `everyday`, or `heavy` in a heavy run. */
export function scaled(everyday: number, heavy: number): number {
  return process.env[heavyVariable] === "1" ? heavy : everyday;
}

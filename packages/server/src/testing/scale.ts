/**
 * How much a test does. `npm test` runs the small version of every test, `npm run test:heavy` the large version of
 * the same code.
 */

/** Set to `1` by `tools/test.ts --heavy`. */
export const heavyVariable = "EMANET_TEST_HEAVY";

/** The first number in an ordinary run, the second in a heavy one. */
export function scaled(small: number, heavy: number): number {
  return process.env[heavyVariable] === "1" ? heavy : small;
}

/** How much a test does: an everyday amount, or the heavy one that `npm run test:heavy` asks for. */

/** `everyday`, or `heavy` where EMANET_TEST_SCALE=heavy. */
export function scaled(everyday: number, heavy: number): number {
  return process.env.EMANET_TEST_SCALE === "heavy" ? heavy : everyday;
}

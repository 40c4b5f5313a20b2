/** Numbers that look random and are the same in every run. */
export function seededRandom(seed: number): { integer(below: number): number } {
  let state = seed >>> 0;
  return {
    // A linear congruential step, its high half taken: good enough to vary a test.
    integer: (below) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return (state >>> 8) % below;
    },
  };
}

/**
 * Acts that cannot be undone need a fresh second factor. An act that the service refuses with `step_up_required` waits for the
 * code, and is then sent again with the same idempotency key: it is done once.
 */

import { type CallOptions, isProblem } from "@emanet/client/source";
import { observable } from "../observable.ts";
import { newKey } from "../platform.ts";

interface Asked {
  readonly answer: (isConfirmed: boolean) => void;
}

/** The act that waits for a code; the dialog shows it. */
export const askedStepUp = observable<Asked | null>(null);

/** The person closed the dialog: nothing was done. */
export class NotConfirmed extends Error {
  override readonly name = "NotConfirmed";
}

/** Does an act; asks for a code where the service wants one. */
export async function perform<T>(act: (options: CallOptions) => Promise<T>): Promise<T> {
  const options = { idempotencyKey: newKey() };
  try {
    return await act(options);
  } catch (error) {
    if (!isProblem(error, "step_up_required")) throw error;
    if (!(await confirmed())) throw new NotConfirmed();
    return act(options);
  }
}

function confirmed(): Promise<boolean> {
  return new Promise((resolve) => {
    askedStepUp.set({
      answer(isConfirmed) {
        askedStepUp.set(null);
        resolve(isConfirmed);
      },
    });
  });
}

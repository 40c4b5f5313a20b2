/** An attempt to prove who one is: whether it runs, and what was wrong with the last one. */

import { isProblem } from "@emanet/client/source";
import { useState } from "react";
import { errorText } from "./states.tsx";

export interface Attempts {
  readonly failure: string | null;
  readonly setFailure: (text: string | null) => void;
  readonly isBusy: boolean;
  readonly attempt: (work: () => Promise<void>) => Promise<void>;
}

/** `wrong` is said where the service refuses what was typed. */
export function useAttempts(wrong: string): Attempts {
  const [failure, setFailure] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const attempt = async (work: () => Promise<void>) => {
    setBusy(true);
    setFailure(null);
    try {
      await work();
    } catch (error) {
      setFailure(isProblem(error, "invalid_credentials") ? wrong : messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  return { failure, setFailure, isBusy, attempt };
}

/** What is wrong, and when it can be tried again. */
function messageOf(error: unknown): string {
  const { title, detail } = errorText(error);
  return detail === null ? title : `${title}. ${detail}`;
}

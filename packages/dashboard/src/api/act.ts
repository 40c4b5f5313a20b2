/** Acts of a person on a screen: done once, asked for a code where the service wants one; then what they changed is read again. */

import type { CallOptions } from "@emanet/client/source";
import { type UseMutationResult, useMutation } from "@tanstack/react-query";
import { queries } from "./client.ts";
import { perform } from "./step-up.ts";

interface After<T> {
  /** First words of the keys in the cache that the act makes old. */
  readonly changes: readonly string[];
  readonly onDone?: (result: T) => void;
}

export function useAct<T, V = void>(
  act: (input: V, options: CallOptions) => Promise<T>,
  { changes, onDone }: After<T>,
): UseMutationResult<T, Error, V> {
  return useMutation({
    mutationFn: (input: V) => perform((options) => act(input, options)),
    onSuccess: async (result: T) => {
      onDone?.(result);
      await Promise.all(changes.map((key) => queries.invalidateQueries({ queryKey: [key] })));
    },
  });
}

/** For operations that take no idempotency key: doing them twice is the same as doing them once. */
export function unkeyed({ idempotencyKey: _key, ...options }: CallOptions): CallOptions {
  return options;
}

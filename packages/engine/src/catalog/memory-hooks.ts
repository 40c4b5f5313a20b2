/** The hooks of the catalog in memory: per hook the newest segment of each owner. */

import type { Item, UploadScope } from "./catalog.ts";

export class MemoryHooks {
  readonly #hooks = new Map<bigint, Map<string, number>>();

  /** The owner's newest segment with the hook, or in the scope `vault` else the newest verified one. */
  find(owner: string, hook: bigint, scope: UploadScope, items: ReadonlyMap<number, Item>): number | null {
    const found = [...(this.#hooks.get(hook) ?? [])].filter(([, ordinal]) => items.has(ordinal));
    const own = found.find(([each]) => each === owner)?.[1];
    if (scope === "lineage") return own ?? null;
    const others = found.map(([, ordinal]) => ordinal).filter((ordinal) => items.get(ordinal)?.verified);
    return own ?? (others.length === 0 ? null : Math.max(...others));
  }

  set(hook: bigint, owner: string, ordinal: number): void {
    this.#hooks.set(hook, (this.#hooks.get(hook) ?? new Map<string, number>()).set(owner, ordinal));
  }

  clear(): void {
    this.#hooks.clear();
  }
}

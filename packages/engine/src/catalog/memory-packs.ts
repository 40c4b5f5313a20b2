/** The packs of the catalog in memory: their states, the markings that condemned them, and the uploads that pin them. */

import type { PackRow, PackState } from "./catalog.ts";
import { CatalogError } from "./catalog.ts";

export class MemoryPacks {
  readonly #rows = new Map<string, PackRow>();
  /** The marking that condemned a pack last. */
  readonly #markings = new Map<string, number>();
  readonly #pins = new Map<string, Set<string>>();

  get(pack: string): PackRow | null {
    return this.#rows.get(pack) ?? null;
  }

  /** In the order of their names. */
  all(): PackRow[] {
    return [...this.#rows.values()].sort((a, b) => (a.pack < b.pack ? -1 : 1));
  }

  add(row: PackRow): void {
    if (this.#rows.has(row.pack)) throw new CatalogError("conflict", `pack ${row.pack} is registered already`);
    this.#rows.set(row.pack, row);
  }

  pin(pack: string, upload: string): void {
    this.#pins.set(pack, (this.#pins.get(pack) ?? new Set()).add(upload));
  }

  /** Pins a pack; a condemned one becomes live. */
  revive(pack: string, upload: string): void {
    this.pin(pack, upload);
    if (this.get(pack)?.state === "condemned") this.setState(pack, "live");
  }

  isPinned(pack: string, upload: string): boolean {
    return this.#pins.get(pack)?.has(upload) ?? false;
  }

  uploadsPinning(pack: string): readonly string[] {
    return [...(this.#pins.get(pack) ?? [])];
  }

  /** Removes the pins of an upload. */
  unpin(upload: string): void {
    for (const [pack, uploads] of this.#pins) if (uploads.delete(upload) && uploads.size === 0) this.#pins.delete(pack);
  }

  /** Condemns those of the packs that no upload pins, and returns them. */
  condemn(packs: readonly string[], marking: number): string[] {
    const states = new Set<string | undefined>(["live", "condemned"]);
    const condemned = packs.filter((pack) => states.has(this.get(pack)?.state) && !this.#pins.has(pack));
    for (const pack of condemned) {
      this.setState(pack, "condemned");
      this.#markings.set(pack, marking);
    }
    return condemned;
  }

  /** Whether this very marking has condemned the pack, and no upload pins it. */
  isCondemned(pack: string, marking: number): boolean {
    return this.get(pack)?.state === "condemned" && !this.#pins.has(pack) && this.#markings.get(pack) === marking;
  }

  setState(pack: string, state: PackState): void {
    const row = this.#rows.get(pack);
    if (row !== undefined) this.#rows.set(pack, { ...row, state });
  }

  /** Removes a pack that is `deleting`. */
  forget(pack: string): void {
    if (this.get(pack)?.state !== "deleting") return;
    this.#rows.delete(pack);
    this.#markings.delete(pack);
  }

  clear(): void {
    for (const map of [this.#rows, this.#markings, this.#pins]) map.clear();
  }
}

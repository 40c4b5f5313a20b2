/** A list of staff with the chosen one beside it: J and K move. The first is chosen until a person chooses. */

import { Fragment, type ReactNode, useState } from "react";
import { useListKeys } from "../shell/keys.ts";

export interface StaffListProps<One> {
  readonly label: string;
  readonly list: readonly One[];
  readonly item: (one: One) => ReactNode;
  readonly detail: (one: One) => ReactNode;
}

export function StaffList<One extends { readonly id: string }>({ label, list, item, detail }: StaffListProps<One>) {
  const [chosenId, setChosenId] = useState<string | null>(null);
  const chosen = list.find(({ id }) => id === chosenId) ?? list[0];
  const place = chosen === undefined ? 0 : list.indexOf(chosen);
  useListKeys(list.length, place, (at) => setChosenId(list[at]?.id ?? null));
  return (
    <div className="staff-columns">
      <ul className="card staff-list" aria-label={label}>
        {list.map((one) => (
          <li key={one.id}>
            <button
              type="button"
              className="staff-item"
              aria-current={one === chosen}
              onClick={() => setChosenId(one.id)}
            >
              {item(one)}
            </button>
          </li>
        ))}
      </ul>
      {chosen !== undefined && <Fragment key={chosen.id}>{detail(chosen)}</Fragment>}
    </div>
  );
}

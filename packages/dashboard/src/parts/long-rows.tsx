/** Rows of a list that scrolls with the page. Of many, only those in view are in the page; the others are space above and below them. */

import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, startTransition, useEffect, useLayoutEffect, useRef, useState } from "react";

/** Fewer rows are all in the page: the browser then finds text in them. More would take longer than a person should wait when a filter brings them. */
export const virtualFrom = 100;

/** Rows of the first paint beyond the height of the window. The others follow in the next frame. */
const firstOverscan = 2;

/** Rows beyond the view: more than a quick turn of the wheel passes in a frame. */
export const overscan = 20;

interface Paged {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => unknown;
}

export interface LongRows<List extends HTMLElement, Row extends HTMLElement> {
  /** Of the element whose first child is the first row. */
  readonly list: RefObject<List | null>;
  /** Indexes of the rows that are in the page. */
  readonly shown: readonly number[];
  /** Space in place of the rows above and below. */
  readonly above: number;
  readonly below: number;
  /** To be given to each row, with `data-index`: rows may differ in height. */
  readonly measure: ((row: Row | null) => void) | undefined;
}

/** `more` is the list that the rows come from, page by page: the next one is read before the end is in view. */
export function useLongRows<List extends HTMLElement, Row extends HTMLElement>(
  count: number,
  rowHeight: number,
  more?: Paged,
): LongRows<List, Row> {
  const list = useRef<List>(null);
  const [top, setTop] = useState(0);
  // What stands over the list may change with every render; the same number changes nothing.
  useLayoutEffect(() => {
    if (list.current !== null) setTop(Math.round(list.current.getBoundingClientRect().top + scrollY));
  });
  const isLong = count > virtualFrom;
  const [isFirst, setFirst] = useState(true);
  // Rows of a short list that are in the page. A filter may leave many of a long list: those in view first, the others behind them.
  const [grown, setGrown] = useState(0);
  useEffect(() => {
    startTransition(() => {
      setFirst(false);
      setGrown(isLong ? 0 : count);
    });
  }, [isLong, count]);
  const rows = useWindowVirtualizer<Row>({
    ...{ count, overscan: isFirst ? firstOverscan : overscan, scrollMargin: top, enabled: isLong },
    estimateSize: () => rowHeight,
  });
  const few = Math.min(count, Math.max(grown, Math.ceil(innerHeight / rowHeight) + firstOverscan));
  const items = isLong ? rows.getVirtualItems() : [];
  const [first, last] = [items[0], items.at(-1)];
  const isNearEnd = isLong && (last?.index ?? 0) >= count - overscan;
  const isWaiting = more?.hasNextPage === true && !more.isFetchingNextPage;
  useEffect(() => {
    if (isNearEnd && isWaiting) more?.fetchNextPage();
  }, [isNearEnd, isWaiting, more?.fetchNextPage]);
  return {
    list,
    shown: isLong ? items.map(({ index }) => index) : Array.from({ length: few }, (_, index) => index),
    above: first === undefined ? 0 : first.start - top,
    below: last === undefined ? (count - few) * rowHeight : rows.getTotalSize() - (last.end - top),
    measure: isLong ? rows.measureElement : undefined,
  };
}

/** In place of the rows of a table that are not in the page. */
export function SpaceRow({ height, columns }: { readonly height: number; readonly columns: number }) {
  if (height <= 0) return null;
  return (
    <tr className="spacer">
      <td colSpan={columns} style={{ height }} />
    </tr>
  );
}

/** The width of an element, followed while it changes. */

import { type RefObject, useEffect, useRef, useState } from "react";

export function useWidth<E extends HTMLElement>(): readonly [ref: RefObject<E | null>, width: number] {
  const ref = useRef<E>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    setWidth(element.clientWidth);
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return [ref, width];
}

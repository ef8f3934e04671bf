import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface Props<T> {
  items: readonly T[];
  /** rowHeight is that of every row, in pixels. */
  rowHeight: number;
  keyOf: (item: T) => string;
  render: (item: T, index: number) => ComponentChildren;
  label: string;
  /** selected is scrolled into view when it changes. */
  selected?: number;
  /** focusSelected moves the keyboard to the link of the selected row when the selection changes. */
  focusSelected?: boolean;
  /** id is that of the list; rows are ID-INDEX, for aria-activedescendant. */
  id: string;
}

const overscan = 6;

/** VirtualList keeps only the rows in the document that can be seen. It scrolls with the nearest `.scroll` above it. */
export function VirtualList<T>({ items, rowHeight, keyOf, render, label, selected = -1, focusSelected, id }: Props<T>) {
  const ref = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ from: 0, to: 30 });

  useLayoutEffect(() => {
    const list = ref.current!;
    const scroller = list.closest<HTMLElement>(".scroll")!;
    let frame = 0;
    const measure = (): void => {
      frame = 0;
      const top = scroller.getBoundingClientRect().top - list.getBoundingClientRect().top;
      const from = Math.max(0, Math.floor(top / rowHeight) - overscan);
      const to = Math.ceil((top + scroller.clientHeight) / rowHeight) + overscan;
      setRange((r) => (r.from === from && r.to === to ? r : { from, to }));
    };
    const later = (): void => void (frame ||= requestAnimationFrame(measure));
    measure();
    scroller.addEventListener("scroll", later, { passive: true });
    const resized = new ResizeObserver(later);
    resized.observe(scroller);
    return () => {
      cancelAnimationFrame(frame);
      scroller.removeEventListener("scroll", later);
      resized.disconnect();
    };
  }, [rowHeight]);

  useEffect(() => {
    if (selected < 0) return;
    const list = ref.current!;
    const scroller = list.closest<HTMLElement>(".scroll")!;
    const box = scroller.getBoundingClientRect();
    const top = list.getBoundingClientRect().top + selected * rowHeight;
    // What sticks to the top of the scroller hides rows.
    const margin = list.parentElement?.querySelector<HTMLElement>(".list-head")?.offsetHeight ?? 0;
    if (top < box.top + margin) scroller.scrollTop -= box.top + margin - top;
    else if (top + rowHeight > box.bottom) scroller.scrollTop += top + rowHeight - box.bottom;
  }, [selected, rowHeight]);

  // The row may come into the document only after the scrolling above.
  const wanted = useRef(-1);
  const before = useRef(selected);
  if (before.current !== selected) {
    before.current = selected;
    wanted.current = focusSelected ? selected : -1;
  }
  useLayoutEffect(() => {
    if (wanted.current < 0) return;
    const link = document.getElementById(`${id}-${wanted.current}`)?.querySelector<HTMLElement>("a, button");
    if (!link) return;
    wanted.current = -1;
    link.focus({ preventScroll: true });
  });

  const from = Math.min(range.from, Math.max(0, items.length - 1));
  const rows = items.slice(from, range.to);
  return (
    <div ref={ref} id={id} class="virtual" role="list" aria-label={label} style={{ height: `${items.length * rowHeight}px` }}>
      {rows.map((item, i) => (
        <div
          key={keyOf(item)}
          id={`${id}-${from + i}`}
          role="listitem"
          aria-setsize={items.length}
          aria-posinset={from + i + 1}
          class={from + i === selected ? "row selected" : "row"}
          style={{ height: `${rowHeight}px`, transform: `translateY(${(from + i) * rowHeight}px)` }}
        >
          {render(item, from + i)}
        </div>
      ))}
    </div>
  );
}

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export interface Tab {
  id: string;
  label: string;
  /** count stands behind the label; `bad` colours it. */
  count?: number;
  bad?: boolean;
}

interface Props {
  label: string;
  tabs: Tab[];
  current: string;
  onChange: (id: string) => void;
  children: ComponentChildren;
}

/** Tabs shows one panel of several: arrows, Home and End move between the tabs. */
export function Tabs({ label, tabs, current, onChange, children }: Props) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // On a narrow screen the tabs scroll sideways; the page itself stays where it is.
    const tab = list.current?.querySelector<HTMLElement>(`#tab-${current}`);
    const l = list.current;
    if (!tab || !l) return;
    if (tab.offsetLeft < l.scrollLeft) l.scrollLeft = tab.offsetLeft - 16;
    else if (tab.offsetLeft + tab.offsetWidth > l.scrollLeft + l.clientWidth) l.scrollLeft = tab.offsetLeft + tab.offsetWidth - l.clientWidth + 16;
  }, [current, tabs.length]);
  const move = (e: KeyboardEvent): void => {
    const at = tabs.findIndex((t) => t.id === current);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    const tab = tabs[(to + tabs.length) % tabs.length]!;
    onChange(tab.id);
    list.current?.querySelector<HTMLElement>(`#tab-${tab.id}`)?.focus();
  };
  return (
    <div class="tabs">
      <div class="tablist" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
        {tabs.map((t) => (
          <button
            key={t.id}
            type="button"
            role="tab"
            id={"tab-" + t.id}
            aria-selected={t.id === current}
            aria-controls="tabpanel"
            tabIndex={t.id === current ? 0 : -1}
            onClick={() => onChange(t.id)}
          >
            {t.label}
            {t.count !== undefined && t.count > 0 && <span class={t.bad ? "count bad" : "count"}>{t.count}</span>}
          </button>
        ))}
      </div>
      <div class="tabpanel" role="tabpanel" id="tabpanel" aria-labelledby={"tab-" + current} tabIndex={0}>
        {children}
      </div>
    </div>
  );
}

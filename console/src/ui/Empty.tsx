import type { ComponentChildren } from "preact";

/** Empty teaches what to do where there is nothing to show. */
export function Empty({ title, children, icon }: { title: string; children?: ComponentChildren; icon?: ComponentChildren }) {
  return (
    <div class="empty">
      {icon}
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Loading keeps the place of what is read. */
export function Loading({ label, rows = 3 }: { label: string; rows?: number }) {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">{label}</span>
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} class="skeleton" aria-hidden="true" />
      ))}
    </div>
  );
}

import { useEffect, useMemo, useState } from "preact/hooks";
import { canWrite } from "../api/session";
import { openDropPanel } from "../drop/panel_state";
import { search } from "../lib/search";
import { useOf } from "../lib/use";
import { navigate, views } from "../router";
import { list } from "../store";
import { S } from "../strings";
import { Dialog } from "../ui/Dialog";

interface Item {
  label: string;
  hint: string;
  run: () => void;
}

const most = 12;

/** itemsFor are the skills, views and actions that a text is about. */
function itemsFor(text: string, onHelp: () => void): Item[] {
  const actions: Item[] = views.map((v) => ({ label: S.nav[v]!, hint: S.palette.view, run: () => navigate(v) }));
  if (canWrite()) actions.push({ label: S.app.add, hint: S.palette.action, run: openDropPanel });
  actions.push({ label: S.app.help, hint: S.palette.action, run: onHelp });
  const word = text.trim().toLowerCase();
  const named = actions.filter((a) => a.label.toLowerCase().includes(word));
  const skills = word ? search(list.value, text).slice(0, most) : [];
  return [...skills.map((s) => ({ label: s.slug, hint: S.uses[useOf(s)]!, run: () => navigate("skills", s.slug, { path: s.shadowed_by ? s.path : undefined }) })), ...named].slice(0, most);
}

/** Palette goes to a skill, a view or an action by its name. */
export function Palette({ onHelp }: { onHelp: () => void }) {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const down = (e: KeyboardEvent): void => {
      if (e.key !== "k" || !(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey) return;
      e.preventDefault();
      if (!document.querySelector("dialog[open]")) setOpen(true);
    };
    addEventListener("keydown", down);
    return () => removeEventListener("keydown", down);
  }, []);
  return (
    <Dialog title={S.palette.title} open={open} onClose={() => setOpen(false)}>
      <Finder onDone={() => setOpen(false)} onHelp={onHelp} />
    </Dialog>
  );
}

function Finder({ onDone, onHelp }: { onDone: () => void; onHelp: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const items = useMemo(() => itemsFor(text, onHelp), [text, list.value]);
  const go = (i: number): void => {
    onDone();
    items[i]?.run();
  };
  const key = (e: KeyboardEvent): void => {
    if (e.key === "ArrowDown") setAt((at + 1) % Math.max(1, items.length));
    else if (e.key === "ArrowUp") setAt((at + items.length - 1) % Math.max(1, items.length));
    else if (e.key === "Enter") go(at);
    else return;
    e.preventDefault();
  };
  return (
    <div class="palette">
      <input
        autofocus
        type="text"
        role="combobox"
        aria-label={S.palette.title}
        aria-expanded="true"
        aria-controls="palette"
        aria-activedescendant={items[at] ? "palette-" + at : undefined}
        placeholder={S.palette.hint}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(e) => (setText(e.currentTarget.value), setAt(0))}
        onKeyDown={key}
      />
      <ul id="palette" role="listbox" aria-label={S.palette.title}>
        {items.map((item, i) => (
          <li key={item.hint + item.label + i} id={"palette-" + i} role="option" aria-selected={i === at} onClick={() => go(i)}>
            <span>{item.label}</span>
            <span class="muted">{item.hint}</span>
          </li>
        ))}
      </ul>
      {items.length === 0 && <p class="hint">{S.skills.noMatch}</p>}
    </div>
  );
}

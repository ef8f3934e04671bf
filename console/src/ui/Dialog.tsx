import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { S } from "../strings";
import { CloseIcon } from "./icons";

interface Props {
  title: string;
  open: boolean;
  onClose: () => void;
  children: ComponentChildren;
  /** footer holds the buttons. */
  footer?: ComponentChildren;
  wide?: boolean;
  /** fixed dialogs cannot be closed by the user. */
  fixed?: boolean;
}

/** Dialog is a modal dialog: the browser keeps the focus in it and gives it back afterwards. */
export function Dialog({ title, open, onClose, children, footer, wide, fixed }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const d = ref.current!;
    if (open && !d.open) d.showModal();
    if (!open && d.open) d.close();
  }, [open]);
  return (
    <dialog
      ref={ref}
      class={wide ? "dialog wide" : "dialog"}
      aria-labelledby={id}
      onCancel={(e) => {
        e.preventDefault();
        if (!fixed) onClose();
      }}
      onClick={(e) => {
        if (e.target === ref.current && !fixed) onClose();
      }}
    >
      {open && (
        <div class="dialog-body">
          <header>
            <h2 id={id}>{title}</h2>
            {!fixed && (
              <button type="button" class="button quiet icon" aria-label={S.common.close} onClick={onClose}>
                <CloseIcon />
              </button>
            )}
          </header>
          <div class="dialog-content">{children}</div>
          {footer && <footer>{footer}</footer>}
        </div>
      )}
    </dialog>
  );
}

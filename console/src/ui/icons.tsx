// Icons are drawn with the colour of the text.
import type { ComponentChildren } from "preact";

function Icon({ children }: { children: ComponentChildren }) {
  return (
    <svg class="icon-svg" viewBox="0 0 20 20" width="18" height="18" fill="none" stroke="currentColor" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      {children}
    </svg>
  );
}

export const CloseIcon = () => <Icon><path d="M5 5l10 10M15 5L5 15" /></Icon>;
export const SearchIcon = () => <Icon><circle cx="9" cy="9" r="5.2" /><path d="M13 13l4 4" /></Icon>;
export const PlusIcon = () => <Icon><path d="M10 4v12M4 10h12" /></Icon>;
export const CheckIcon = () => <Icon><path d="M4 10.500l4 4 8-9" /></Icon>;
export const CrossIcon = () => <Icon><path d="M5.5 5.500l9 9M14.5 5.500l-9 9" /></Icon>;
export const WarnIcon = () => <Icon><path d="M10 3l7.5 13.500h-15zM10 8.500v3.500M10 14.300v.1" /></Icon>;
export const BackIcon = () => <Icon><path d="M12 4l-6 6 6 6" /></Icon>;
export const FileIcon = () => <Icon><path d="M5 2.500h6.500L15.5 6.500v11h-10.500zM11 2.800V7h4" /></Icon>;
export const HelpIcon = () => <Icon><circle cx="10" cy="10" r="7.5" /><path d="M7.8 7.800a2.2 2.2 0 1 1 3.3 1.900c-.8.5-1.1.9-1.1 1.800M10 14.100v.1" /></Icon>;
export const DropIcon = () => <Icon><path d="M10 3v9M6.5 8.500L10 12l3.5-3.500M3 13v3.500h14V13" /></Icon>;
export const Logo = () => (
  <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true" class="logo">
    <path fill="currentColor" d="M4 12h24l-2.6 14.200A3.4 3.4 0 0 1 22 29H10a3.4 3.4 0 0 1-3.4-2.800z" />
    <path fill="none" stroke="currentColor" stroke-width="2.6" stroke-linecap="round" d="M9 12a7 7 0 0 1 14 0" />
    <path class="logo-slots" stroke-width="1.8" stroke-linecap="round" d="M11.5 16.500v8M16 16.500v8M20.5 16.500v8" />
  </svg>
);

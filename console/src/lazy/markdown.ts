// Markdown of skills, which are untrusted. Loaded only by views that show one.
import createDOMPurify from "dompurify";
import { Marked } from "marked";

// HTML is shown as the text that it is: the agent reads it so, comments too, and nothing of it is ever a part of the page.
const renderer = {
  image: ({ text: alt, href }: { text: string; href: string }) => `<code>[image: ${escape(alt || href)}]</code>`,
  html: (t: { text: string; block?: boolean }) => (t.block ? `<pre><code>${escape(t.text.trim())}</code></pre>` : `<code>${escape(t.text)}</code>`),
};
const marked = new Marked({ gfm: true, async: false, renderer });
const purify = createDOMPurify(window);

const options = {
  ALLOWED_TAGS: [
    "h1", "h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "blockquote", "ul", "ol", "li", "pre", "code", "em", "strong", "del", "a", "table", "thead", "tbody",
    "tr", "th", "td", "kbd", "sub", "sup", "details", "summary", "input", "dl", "dt", "dd", "s", "b", "i", "mark", "var", "samp", "q", "abbr",
  ],
  ALLOWED_ATTR: ["href", "align", "start", "type", "checked", "disabled", "open"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|[^a-z]|[a-z+.-]+(?:[^a-z+.\-:]|$))/i,
  RETURN_DOM_FRAGMENT: true,
} as const;

/** Link is called for each link that leads to a file of the skill. */
export type Link = (path: string) => string | null;

/**
 * render returns the sanitised tree of a Markdown text. Images become their alternative texts. Links have their target as
 * title; those to files of the skill lead to the viewer, and others within the page lead nowhere.
 */
export function render(text: string, fileHref: Link): DocumentFragment {
  const html = marked.parse(text) as string;
  const tree = purify.sanitize(html, { ...options, ALLOWED_TAGS: [...options.ALLOWED_TAGS], ALLOWED_ATTR: [...options.ALLOWED_ATTR] }) as unknown as DocumentFragment;
  for (const input of tree.querySelectorAll("input")) {
    if (input.type !== "checkbox") input.remove();
    else input.disabled = true;
  }
  for (const pre of tree.querySelectorAll("pre, table")) pre.setAttribute("tabindex", "0");
  // The page has a heading of its own above the text, and no level is left out.
  let before = 1;
  for (const h of [...tree.querySelectorAll("h1, h2, h3, h4, h5, h6")]) {
    before = Math.min(6, Number(h.tagName[1]) + 1, before + 1);
    const to = document.createElement("h" + before);
    to.append(...h.childNodes);
    h.replaceWith(to);
  }
  for (const a of [...tree.querySelectorAll("a")]) link(a, fileHref);
  return tree;
}

function link(a: HTMLAnchorElement, fileHref: Link): void {
  const target = a.getAttribute("href") ?? "";
  if (/^(https?:|mailto:)/i.test(target)) {
    a.setAttribute("rel", "noopener noreferrer nofollow");
    a.setAttribute("target", "_blank");
    a.title = target;
    return;
  }
  const href = /^[^#?/\\][^:]*$/.test(target) ? fileHref(target.replace(/^\.\//, "").replace(/[#?].*$/, "")) : null;
  if (href) {
    a.setAttribute("href", href);
    return;
  }
  const span = document.createElement("span");
  span.append(...a.childNodes);
  if (target) span.title = target;
  a.replaceWith(span);
}

function escape(s: string): string {
  return s.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!);
}

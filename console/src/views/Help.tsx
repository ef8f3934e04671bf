import { href, views } from "../router";
import { S } from "../strings";
import { Dialog } from "../ui/Dialog";

/** Help explains the keys, the views and a few words. */
export function Help({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog wide title={S.app.help} open={open} onClose={onClose}>
      <div class="columns">
        <section>
          <h3>{S.help.keys}</h3>
          <dl class="keys">
            {[...S.help.everywhere, ...S.help.ofViews].map(([key, what]) => (
              <div key={key}>
                <dt>
                  {key!.split("  ").map((k) => (
                    <kbd key={k}>{k}</kbd>
                  ))}
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
          <h3>{S.help.words}</h3>
          <dl class="terms">
            {S.help.terms.map(([term, meaning]) => (
              <div key={term}>
                <dt>{term}</dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
        </section>
        <section>
          <h3>{S.help.views}</h3>
          <dl class="terms">
            {views.map((view) => (
              <div key={view}>
                <dt>
                  <a href={href(view)} onClick={onClose}>{S.nav[view]}</a>
                </dt>
                <dd>{S.help.meanings[view]}</dd>
              </div>
            ))}
          </dl>
        </section>
      </div>
    </Dialog>
  );
}

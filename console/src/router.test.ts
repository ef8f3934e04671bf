import { test } from "node:test";
import assert from "node:assert/strict";
import { format, makeRouter, parse, type Address } from "./router";

/** fake is an address whose timers and notices come when the test says so. */
function fake(hash: string) {
  let timers: { f: () => void }[] = [];
  let notify = (): void => {};
  const writes: string[] = [];
  const address: Address = {
    get: () => hash,
    replace: (h) => void (writes.push("replace " + h), (hash = h)),
    push: (h) => void (writes.push("push " + h), (hash = h)),
    onChange: (f) => (notify = f),
    timer(f) {
      const t = { f };
      timers.push(t);
      return () => (timers = timers.filter((x) => x !== t));
    },
  };
  return {
    address,
    writes,
    /** outside changes the address as the address bar, Back or location.hash= do; the notice may come later. */
    outside: (h: string) => (hash = h),
    notice: () => notify(),
    fire() {
      const due = timers;
      timers = [];
      for (const t of due) t.f();
    },
    now: () => hash,
    pending: () => timers.length,
  };
}

test("parse and format agree", () => {
  for (const hash of ["#/skills", "#/skills/ann%2Fpdf?path=skills%2Fpdf&tab=files", "#/turn?text=a+b", "#/skills/%25"]) {
    const r = parse(hash);
    assert.equal(format(r.view, r.slug, r.params), hash);
  }
});

test("an unknown or faulty address leads to the skills", () => {
  for (const hash of ["", "#", "#/", "#/nope", "#code=x", "#/skills/%"]) assert.equal(parse(hash).view, "skills");
});

test("parameters change the route at once and the address once", () => {
  const f = fake("#/skills");
  const { route, setParams } = makeRouter(f.address);
  for (const q of ["p", "pd", "pdf"]) setParams({ q });
  assert.equal(route.value.params.q, "pdf");
  assert.deepEqual(f.writes, []);
  assert.equal(f.pending(), 1);
  f.fire();
  assert.deepEqual(f.writes, ["replace #/skills?q=pdf"]);
});

test("a pending write is dropped when the address has changed from outside", () => {
  const f = fake("#/skills");
  const { route, setParams } = makeRouter(f.address);
  setParams({ q: "pdf" });
  f.outside("#/health");
  f.notice();
  f.fire();
  assert.deepEqual(f.writes, []);
  assert.equal(route.value.view, "health");
});

test("a pending write is dropped also before the browser reports the change", () => {
  const f = fake("#/skills");
  const { route, setParams } = makeRouter(f.address);
  setParams({ q: "pdf" });
  f.outside("#/health");
  f.fire();
  assert.deepEqual(f.writes, []);
  assert.equal(f.now(), "#/health");
  assert.equal(route.value.view, "health");
});

test("parameters that are set after an unreported change belong to the new address", () => {
  const f = fake("#/skills?q=a");
  const { route, setParams } = makeRouter(f.address);
  f.outside("#/activity");
  setParams({ type: "x" });
  assert.equal(route.value.view, "activity");
  assert.equal(route.value.params.q, undefined);
  f.fire();
  assert.equal(f.now(), "#/activity?type=x");
});

test("navigate writes a pending change first, so that Back finds it", () => {
  const f = fake("#/skills");
  const { route, setParams, navigate } = makeRouter(f.address);
  setParams({ q: "pdf" });
  navigate("skills", "pdf-forms");
  assert.deepEqual(f.writes, ["replace #/skills?q=pdf", "push #/skills/pdf-forms"]);
  assert.equal(route.value.slug, "pdf-forms");
  f.fire();
  assert.equal(f.now(), "#/skills/pdf-forms");
});

test("navigate to where the page is writes nothing", () => {
  const f = fake("#/skills");
  makeRouter(f.address).navigate("skills");
  assert.deepEqual(f.writes, []);
});

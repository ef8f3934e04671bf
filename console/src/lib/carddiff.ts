// Difference of two agent cards: skills by id, other keys by name.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type CardObject = { [key: string]: Json };

export interface FieldChange {
  field: string;
  has?: Json; // absent: the platform lacks it
  wanted?: Json; // absent: we do not send it
}

export interface SkillChange {
  id: string;
  name: string;
  change: "missing" | "extra" | "changed" | "moved";
  fields: FieldChange[];
}

export interface CardChange {
  skills: SkillChange[];
  fields: FieldChange[];
  /** kept are the keys that others wrote into the card: a push keeps them, so they are no difference. */
  kept: string[];
}

/** Compares what a platform has with what we want it to have. */
export function diffCards(has: CardObject, wanted: CardObject): CardChange {
  const fields = diffFields(has, wanted, "skills");
  const foreign = (f: FieldChange) => f.wanted === undefined;
  return { skills: diffSkills(skillsOf(has), skillsOf(wanted)), fields: fields.filter((f) => !foreign(f)), kept: fields.filter(foreign).map((f) => f.field) };
}

export function isSame(change: CardChange): boolean {
  return change.skills.length === 0 && change.fields.length === 0;
}

/** Returns the skills of a card by id. A card of a platform may hold anything. */
export function skillsOf(card: CardObject): Map<string, CardObject> {
  const skills = new Map<string, CardObject>();
  if (!Array.isArray(card.skills)) return skills;
  for (const skill of card.skills) {
    if (!isObject(skill)) continue;
    const id = skill.id ?? skill.name;
    if (typeof id === "string") skills.set(id, skill);
  }
  return skills;
}

function diffSkills(has: Map<string, CardObject>, wanted: Map<string, CardObject>): SkillChange[] {
  const changes: SkillChange[] = [];
  for (const [id, skill] of wanted) {
    const there = has.get(id);
    if (!there) {
      changes.push({ id, name: nameOf(id, skill), change: "missing", fields: [] });
      continue;
    }
    const fields = diffFields(there, skill);
    if (fields.length > 0) changes.push({ id, name: nameOf(id, skill), change: "changed", fields });
  }
  for (const [id, skill] of has) {
    if (!wanted.has(id)) changes.push({ id, name: nameOf(id, skill), change: "extra", fields: [] });
  }
  if (changes.length === 0) {
    const order = [...has.keys()];
    [...wanted].forEach(([id, skill], i) => {
      if (order[i] !== id) changes.push({ id, name: nameOf(id, skill), change: "moved", fields: [] });
    });
  }
  return changes;
}

function diffFields(has: CardObject, wanted: CardObject, except?: string): FieldChange[] {
  const changes: FieldChange[] = [];
  for (const field of new Set([...Object.keys(wanted), ...Object.keys(has)])) {
    if (field === except || canonical(has[field]) === canonical(wanted[field])) continue;
    changes.push({ field, has: has[field], wanted: wanted[field] });
  }
  return changes;
}

const nameOf = (id: string, skill: CardObject) => (typeof skill.name === "string" ? skill.name : id);

function isObject(value: Json): value is CardObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a text that is the same for equal values, whatever the order of their keys. */
function canonical(value: Json | undefined): string {
  if (value === undefined) return "";
  return JSON.stringify(value, (_, v: Json) => (isObject(v) ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v));
}

// What a drop needs of the page: connections, the packer, the limits of the sidecar.

import { asProblem } from "../api/client";
import type { Skill } from "../api/model";
import { tell } from "../api/embed";
import { setPolicy } from "../api/policy";
import { over, session } from "../api/session";
import { each } from "../lib/bulk";
import { S } from "../strings";
import { toast } from "../ui/Toast";
import type { pack as Pack } from "./pack";
import type { Limits } from "./collect";
import type { Tools } from "./drops";
import { connect, loggedIn } from "./link";

type SourceKind = Skill["source_kind"];

/** Install is what GET /v1/session says of installing. */
interface Install {
  max_compressed_bytes: number;
  max_uncompressed_bytes: number;
  max_entries: number;
  max_file_bytes: number;
  skip?: string[];
}

/** The defaults of the settings, for a sidecar that does not tell its own. */
const defaults: Install = { max_compressed_bytes: 104857600, max_uncompressed_bytes: 524288000, max_entries: 2048, max_file_bytes: 52428800 };

async function limits(): Promise<{ limits: Limits; skip?: readonly string[]; compressedBytes: number }> {
  if (!session.peek() || over.peek()) await loggedIn();
  const of = { ...defaults, ...(session.peek() as { install?: Partial<Install> } | null)?.install };
  return {
    limits: { entries: of.max_entries, fileBytes: of.max_file_bytes, totalBytes: of.max_uncompressed_bytes },
    skip: of.skip,
    compressedBytes: of.max_compressed_bytes,
  };
}

export const tools: Tools = {
  connect,
  limits,
  installed: (results) => {
    for (const { result } of results) {
      const { slug, path, version } = result!.skill;
      tell("installed", { slug, path, version, replaced: result!.status === "updated" });
    }
  },
  failed: (fault) => tell("error", { code: fault.code, message: S.drop.faults[fault.code]?.(fault.detail, fault.hint).text ?? fault.detail }),
  offer: async (installed) => {
    const skills = installed.map((r) => r.result!.skill);
    const { failed } = await each(skills, 4, (s) => setPolicy({ slug: s.slug, source_kind: (s.source_kind ?? "workspace") as SourceKind }, { allow_implicit_invocation: true }));
    if (failed.length === 0) return;
    const first = asProblem(failed[0]!.error);
    toast({ kind: "error", text: S.switches.failed(failed.length, failed[0]!.item.slug, first.detail), hint: first.hint });
  },
  pack: async (skills, options) => {
    // A name in a variable keeps the bundler from joining the packer with the app: only drops of folders need it.
    const bundle = "./pack.js";
    const packer = (await import(bundle)) as { pack: typeof Pack };
    return packer.pack(skills, options);
  },
};

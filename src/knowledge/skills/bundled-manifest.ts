import { join } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { readRegularFile } from "../../base/regular-file.ts"

const MAX_BYTES = 1_000_000

/** The bundled skills that were copied into a home, with the hash of what was copied: one `name:hash` per line. */
export function readBundledManifest(skillsRoot: string): ReadonlyMap<string, string> {
  try {
    const { bytes } = readRegularFile(join(skillsRoot, BUNDLED_MANIFEST), { maxBytes: MAX_BYTES })
    const lines = bytes.toString("utf8").split("\n")
    return new Map(
      lines.flatMap((line): [string, string][] => {
        const [name = "", hash = ""] = line.trim().split(":", 2)
        return name === "" ? [] : [[name, hash]]
      }),
    )
  } catch {
    // Nothing was copied yet, or the file is damaged: existing skills then count as the user's.
    return new Map()
  }
}

export function writeBundledManifest(skillsRoot: string, entries: ReadonlyMap<string, string>): void {
  const lines = [...entries].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, hash]) => `${name}:${hash}\n`)
  writeFileAtomic(join(skillsRoot, BUNDLED_MANIFEST), lines.join(""))
}

/** Names that the curator of the Python edition has archived. */
export function suppressedNames(skillsRoot: string): ReadonlySet<string> {
  try {
    const { bytes } = readRegularFile(join(skillsRoot, ".curator_suppressed"), { maxBytes: MAX_BYTES })
    return new Set(
      bytes
        .toString("utf8")
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== ""),
    )
  } catch {
    // There is no such file.
    return new Set()
  }
}

export const BUNDLED_MANIFEST = ".bundled_manifest"
/** In the home: no bundled skills are copied into it. */
export const NO_BUNDLED_SKILLS = ".no-bundled-skills"

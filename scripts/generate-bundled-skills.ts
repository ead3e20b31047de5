/**
 * Writes src/knowledge/skills/bundled.generated.ts from the directory skills/: the names that the index of a new home lists before the skills
 * are copied, and a hash that changes with every one of them. With --check it writes nothing and exits with 1 when the file is out of date.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

import { sha256Hex } from "../src/base/random-and-hash.ts"
import { bundledDirectories } from "../src/knowledge/skills/bundled-sync.ts"
import { readFrontMatter } from "../src/knowledge/skills/front-matter.ts"
import { indexFields } from "../src/knowledge/skills/skill-fields.ts"
import { contentHash } from "../src/knowledge/skills/skill-files.ts"
import { SKILL_FILE } from "../src/knowledge/skills/skill.ts"

const BUNDLE = fileURLToPath(new URL("../skills", import.meta.url))
const GENERATED = fileURLToPath(new URL("../src/knowledge/skills/bundled.generated.ts", import.meta.url))

if (import.meta.main) process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  const text = await renderBundle(BUNDLE)
  if (readFileSync(GENERATED, "utf8") === text) return 0
  if (args.includes("--check")) {
    console.error("src/knowledge/skills/bundled.generated.ts is out of date: run `npm run generate`")
    return 1
  }
  writeFileSync(GENERATED, text)
  return 0
}

export async function renderBundle(bundle: string): Promise<string> {
  const directories = await bundledDirectories(bundle)
  const hash = sha256Hex(directories.map((path) => `${basename(path)}:${contentHash(path)}`).join("\n")).slice(0, 16)
  // Skills with conditions appear in the index once they have been copied and their conditions can be checked.
  const listed = directories.filter((path) => {
    const { fields } = readFrontMatter(readFileSync(join(path, SKILL_FILE), "utf8"))
    const { name: _name, description: _description, ...conditions } = indexFields(fields, basename(path))
    return Object.values(conditions).every((list) => list.length === 0)
  })
  const categories = Object.fromEntries(
    [...Map.groupBy(listed, (path) => basename(dirname(path)))]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([category, members]) => [category, members.map((path) => basename(path)).toSorted()]),
  )
  return [
    "// Written by scripts/generate-bundled-skills.ts from skills/; run `npm run generate` after changing a skill.",
    "interface BundledSkills {",
    "  readonly hash: string",
    "  readonly categories: Readonly<Record<string, readonly string[]>>",
    "}",
    "",
    `export const BUNDLED_SKILLS: BundledSkills = ${JSON.stringify({ hash, categories })}`,
    "",
  ].join("\n")
}

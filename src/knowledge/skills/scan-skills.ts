import { readdirSync, realpathSync, statSync, type Dirent } from "node:fs"
import { basename, join, relative, sep } from "node:path"

import { isInside } from "../../base/is-inside.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import { errorMessage } from "../../base/system-error.ts"
import { BUNDLED_MANIFEST, readBundledManifest } from "./bundled-manifest.ts"
import { readFrontMatter } from "./front-matter.ts"
import { indexFields } from "./skill-fields.ts"
import { stampOf, type ScannedRoot, type Stamp } from "./skill-snapshot.ts"
import { SKILL_FILE, SUPPORT_DIRECTORIES, type Skill, type SkillRoot } from "./skill.ts"

const CATEGORY_FILE = "DESCRIPTION.md"
const EXCLUDED = new Set(
  "node_modules __pycache__ venv site-packages .git .github .hub .archive .curator_backups .venv .tox .nox".split(" "),
)
const MAX_DEPTH = 6
const MAX_DIRECTORIES = 2000
const MAX_FILE_BYTES = 1_000_000
const MAX_CATEGORY_CHARS = 200

/** Finds all skills below a root. What cannot be read is left out or listed with its problem; it never throws. */
export function scanSkillRoot(root: SkillRoot): ScannedRoot {
  const found: ScanState = {
    root,
    real: realOrUndefined(root.path) ?? root.path,
    bundled: root.kind === "home" ? readBundledManifest(root.path) : new Map(),
    skills: [],
    categories: {},
    manifest: {},
    visited: new Set(),
  }
  visit(root.path, 0, found)
  if (root.kind === "home") note(join(root.path, BUNDLED_MANIFEST), found)
  const skills = found.skills.toSorted((a, b) => compare(a.name, b.name) || compare(a.directory, b.directory))
  return { skills, categories: found.categories, manifest: found.manifest }
}

interface ScanState {
  readonly root: SkillRoot
  readonly real: string
  readonly bundled: ReadonlyMap<string, string>
  readonly skills: Skill[]
  readonly categories: Record<string, string>
  readonly manifest: Record<string, Stamp>
  /** Real paths, so that links cannot lead around in circles. */
  readonly visited: Set<string>
}

function visit(directory: string, depth: number, state: ScanState): void {
  const real = realOrUndefined(directory)
  if (real === undefined || state.visited.has(real) || state.visited.size >= MAX_DIRECTORIES) return
  // A repository could link to any directory of this machine.
  if (state.root.kind === "project" && !isInside(real, state.real)) return
  state.visited.add(real)
  note(directory, state)
  const entries = entriesOf(directory)
  if (entries === undefined) return
  const isSkill = entries.some(({ name }) => name === SKILL_FILE) && directory !== state.root.path
  if (isSkill) state.skills.push(readEntry(directory, state))
  else if (entries.some(({ name }) => name === CATEGORY_FILE)) readCategory(directory, state)
  if (depth >= MAX_DEPTH) return
  for (const { name } of entries.filter((entry) => isSearched(entry, directory))) {
    if (isSkill && SUPPORT_DIRECTORIES.some((support) => support === name)) continue
    visit(join(directory, name), depth + 1, state)
  }
}

function entriesOf(directory: string): readonly Dirent[] | undefined {
  try {
    return readdirSync(directory, { withFileTypes: true }).toSorted((a, b) => compare(a.name, b.name))
  } catch {
    // Not readable, or removed meanwhile.
    return undefined
  }
}

function isSearched(entry: Dirent, directory: string): boolean {
  if (entry.name.startsWith(".") || EXCLUDED.has(entry.name)) return false
  if (!entry.isSymbolicLink()) return entry.isDirectory()
  return statSync(join(directory, entry.name), { throwIfNoEntry: false })?.isDirectory() === true
}

function readEntry(directory: string, state: ScanState): Skill {
  const { fields, problem } = fieldsOf(join(directory, SKILL_FILE), state)
  const values = indexFields(fields, basename(directory))
  const problems = [problem, values.description === "" ? "it has no description" : undefined].filter(
    (text) => text !== undefined,
  )
  return {
    ...values,
    category: categoryOf(directory, state.root.path),
    directory,
    source: state.root.kind,
    bundled: state.bundled.has(basename(directory)),
    ...(problems.length === 0 ? {} : { problem: problems.join("; ") }),
  }
}

function fieldsOf(file: string, state: ScanState): Pick<ReturnType<typeof readFrontMatter>, "fields" | "problem"> {
  // Before it is read: a change meanwhile then makes the entry outdated.
  note(file, state)
  try {
    const { bytes } = readRegularFile(file, { maxBytes: MAX_FILE_BYTES })
    if (bytes.includes(0)) return { fields: {}, problem: `${SKILL_FILE} is not a text file` }
    return readFrontMatter(bytes.toString("utf8"))
  } catch (error) {
    return { fields: {}, problem: `${SKILL_FILE} cannot be read: ${errorMessage(error)}` }
  }
}

function readCategory(directory: string, state: ScanState): void {
  const file = join(directory, CATEGORY_FILE)
  const category = relative(state.root.path, directory).split(sep).join("/")
  if (category === "") return
  const { fields } = fieldsOf(file, state)
  const { description } = indexFields(fields, "")
  if (description !== "") state.categories[category] = description.slice(0, MAX_CATEGORY_CHARS)
}

function note(path: string, { manifest, root }: ScanState): void {
  manifest[path] = stampOf(path, root)
}

function categoryOf(directory: string, root: string): string {
  return relative(root, directory).split(sep).slice(0, -1).join("/")
}

function realOrUndefined(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    // A link without a target, or a loop of links.
    return undefined
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

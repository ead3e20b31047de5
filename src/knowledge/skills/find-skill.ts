import { lstatSync } from "node:fs"
import { join } from "node:path"

import { fail, ok, type Result } from "../../base/result.ts"
import { nearest } from "../../base/nearest-name.ts"
import { qualifiedName, type Skill, type SkillRoot } from "./skill.ts"

export type FoundSkill =
  | { readonly kind: "directory"; readonly skill: Skill }
  /** A single Markdown file in a root, as early versions of the Python edition wrote them. */
  | { readonly kind: "file"; readonly name: string; readonly path: string }

export interface SkillNotFound {
  readonly message: string
  readonly suggestions: readonly string[]
}

const MAX_SUGGESTIONS = 20

/** Finds a skill by path, directory name or declared name, in this order. Several in one root are never guessed between. */
export function findSkill(
  typed: string,
  { skills, roots }: { readonly skills: readonly Skill[]; readonly roots: readonly SkillRoot[] },
): Result<FoundSkill, SkillNotFound> {
  const wanted = typed.trim().replace(/^\/+|\/+$/gu, "")
  if (wanted === "" || wanted.split("/").some((part) => part === "..") || typed.trim().startsWith("/"))
    return fail({ message: `"${typed}" is not the name of a skill: pass a name, or category/name`, suggestions: [] })
  for (const matches of [byPath, byDirectory, byName]) {
    const found = skills.filter((skill) => matches(skill, wanted.toLowerCase()))
    const [first] = found
    if (first === undefined) continue
    const rivals = found.filter(({ source, directory }) => source === first.source && directory !== first.directory)
    if (rivals.length === 0) return ok({ kind: "directory", skill: first })
    const names = [first, ...rivals].map(qualifiedName)
    return fail({
      message: `several skills are called "${wanted}"; name one of them: ${names.join(", ")}`,
      suggestions: names,
    })
  }
  const file = wanted.includes("/") ? undefined : flatFile(wanted, roots)
  if (file !== undefined) return ok({ kind: "file", name: wanted, path: file })
  return fail({ message: `there is no skill "${wanted}"`, suggestions: suggestionsFor(wanted, skills) })
}

function byPath(skill: Skill, wanted: string): boolean {
  return wanted.includes("/") && qualifiedName(skill).toLowerCase() === wanted
}

function byDirectory({ directory }: Skill, wanted: string): boolean {
  return directory.slice(directory.lastIndexOf("/") + 1).toLowerCase() === wanted
}

function byName({ name }: Skill, wanted: string): boolean {
  return name.toLowerCase() === wanted
}

function flatFile(name: string, roots: readonly SkillRoot[]): string | undefined {
  if (!/^[\w][\w.-]*$/u.test(name)) return undefined
  return roots
    .filter(({ kind }) => kind !== "project")
    .map(({ path }) => join(path, `${name}.md`))
    .find((path) => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true)
}

function suggestionsFor(wanted: string, skills: readonly Skill[]): readonly string[] {
  const names = skills.map(({ name }) => name)
  const closest = nearest(wanted, names)
  const related = names.filter((name) => name.includes(wanted) || wanted.includes(name))
  return [...new Set([...(closest === undefined ? [] : [closest]), ...related, ...names])].slice(0, MAX_SUGGESTIONS)
}

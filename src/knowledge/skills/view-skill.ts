import { basename, extname } from "node:path"

import { fail, ok, type Result } from "../../base/result.ts"
import { findSkill, type FoundSkill, type SkillNotFound } from "./find-skill.ts"
import { readFrontMatter } from "./front-matter.ts"
import type { JudgeSnippets } from "./guard/command-risk.ts"
import { findingLines } from "./guard/guard-policy.ts"
import { scanSkillText } from "./guard/scan-skill.ts"
import { installedChanges } from "./hub-lock.ts"
import { skillState, type SkillCircumstances } from "./skill-conditions.ts"
import { skillNeeds, skillSettings, skillTags, valueText } from "./skill-fields.ts"
import { linkedFiles, pathInSkill, readSkillFile, type LinkedFiles } from "./skill-files.ts"
import { readinessOf, type Readiness } from "./skill-readiness.ts"
import { substituteVariables } from "./skill-text.ts"
import { SKILL_FILE, type Skill, type SkillRoot, type SkillSource } from "./skill.ts"

/** What viewing needs besides the skill itself. */
export interface ViewSources {
  readonly skills: readonly Skill[]
  readonly roots: readonly SkillRoot[]
  readonly circumstances: SkillCircumstances
  /** The home of Hermes. */
  readonly home: string
  readonly variable: (name: string) => string | undefined
  readonly sessionId: string | undefined
  /** `skills.template_vars` */
  readonly replacesVariables: boolean
  /** `skills.config` */
  readonly settings: Readonly<Record<string, unknown>>
  /** The path of a file of this machine as commands in the workspace see it. */
  readonly inWorkspace: (path: string) => string
  readonly loadJudge: () => Promise<JudgeSnippets>
  /** Also loads a disabled skill, because the user named it. */
  readonly isNamedByUser?: boolean
}

export interface ViewedSkill {
  readonly name: string
  readonly description: string
  readonly source: SkillSource
  readonly tags: readonly string[]
  readonly related: readonly string[]
  /** The text below the front matter. */
  readonly content: string
  /** As commands in the workspace see them. */
  readonly path: string
  readonly directory: string
  readonly linked: LinkedFiles | null
  readonly needs: ReturnType<typeof skillNeeds>
  readonly readiness: Readiness
  readonly isSupported: boolean
  readonly settings: readonly { readonly key: string; readonly value: string; readonly description: string }[]
  /** For the model, for example that files differ from what was installed. */
  readonly warnings: readonly string[]
  readonly metadata: unknown
}

export type ViewedSkillFile = { readonly source: SkillSource } & (
  | {
      readonly kind: "text"
      readonly name: string
      readonly file: string
      readonly text: string
      readonly type: string
    }
  | {
      readonly kind: "binary"
      readonly name: string
      readonly file: string
      readonly bytes: number
      readonly type: string
    }
)

/** Loads a skill: the second level of disclosure. */
export async function viewSkill(typed: string, sources: ViewSources): Promise<Result<ViewedSkill, SkillNotFound>> {
  const found = findOffered(typed, sources)
  if (!found.ok) return found
  const { name, file, directory, source } = placeOf(found.value)
  const read = readSkillFile(file)
  if (!read.ok) return refused(`the skill ${name} cannot be read: ${read.error}`)
  if (read.value.kind === "binary") return refused(`${SKILL_FILE} of the skill ${name} is not a text file`)
  const checked = await checkText(name, read.value.text, { source, ...sources })
  if (!checked.ok) return checked
  const { fields, body, problem } = readFrontMatter(read.value.text)
  const needs = skillNeeds(fields)
  const { tags, related } = skillTags(fields)
  const shownDirectory = sources.inWorkspace(directory)
  const changes =
    source === "home" ? await installedChanges(directory, { skillsRoot: homeRoot(sources), ...sources }) : ok([])
  if (!changes.ok) return refused(changes.error)
  const text = body.trim()
  return ok({
    name,
    description: found.value.kind === "directory" ? found.value.skill.description : valueText(fields["description"]),
    source,
    tags,
    related,
    content: sources.replacesVariables
      ? substituteVariables(text, { directory: shownDirectory, sessionId: sources.sessionId })
      : text,
    path: sources.inWorkspace(file),
    directory: shownDirectory,
    linked: found.value.kind === "directory" ? linkedFiles(directory) : null,
    needs,
    readiness: readinessOf(needs, sources),
    isSupported: found.value.kind === "file" || skillState(found.value.skill, sources.circumstances) !== "unsupported",
    settings: skillSettings(fields).map(({ key, description, default: initial }) => ({
      key,
      description,
      value: settingValue(key, sources.settings) ?? initial,
    })),
    warnings: [...(problem === undefined ? [] : [`The front matter is damaged: ${problem}.`]), ...changes.value],
    metadata: fields["metadata"] ?? null,
  })
}

/** Why a skill would not be loaded although it is there; undefined when it would. */
export async function refusalOf(
  { name, directory, source }: Skill,
  sources: Pick<ViewSources, "roots" | "loadJudge">,
): Promise<string | undefined> {
  const read = readSkillFile(`${directory}/${SKILL_FILE}`)
  if (!read.ok || read.value.kind === "binary") return undefined
  const checked = await checkText(name, read.value.text, { source, ...sources })
  if (!checked.ok) return checked.error.message
  const changes =
    source === "home" ? await installedChanges(directory, { skillsRoot: homeRoot(sources), ...sources }) : ok([])
  return changes.ok ? undefined : changes.error
}

/** Loads one file of a skill: the third level. */
export async function viewSkillFile(
  typed: string,
  file: string,
  sources: ViewSources,
): Promise<Result<ViewedSkillFile, SkillNotFound>> {
  const found = findOffered(typed, sources)
  if (!found.ok) return found
  const { name, directory, source } = placeOf(found.value)
  if (found.value.kind === "file") return refused(`the skill ${name} is a single file and has no others`)
  const path = pathInSkill(directory, file)
  if (!path.ok) return fail({ message: path.error, suggestions: Object.values(linkedFiles(directory) ?? {}).flat() })
  const read = readSkillFile(path.value)
  if (!read.ok) return refused(`${file}: ${read.error}`)
  const type = extname(file).slice(1).toLowerCase()
  if (read.value.kind === "binary") return ok({ kind: "binary", name, file, source, bytes: read.value.bytes, type })
  const checked = await checkText(`${name}/${file}`, read.value.text, { source, ...sources })
  if (!checked.ok) return checked
  return ok({ kind: "text", name, file, source, text: read.value.text, type })
}

/** The text of a file as it is on disk, for an edit. */
export function readSkillText(typed: string, file: string | undefined, sources: ViewSources): Result<string> {
  const found = findSkill(typed, sources)
  if (!found.ok) return fail(found.error.message)
  const { directory, file: main } = placeOf(found.value)
  const path = file === undefined || file === SKILL_FILE ? ok(main) : pathInSkill(directory, file)
  if (!path.ok) return path
  const read = readSkillFile(path.value)
  if (!read.ok) return fail(`${file ?? SKILL_FILE}: ${read.error}`)
  return read.value.kind === "text" ? ok(read.value.text) : fail(`${file ?? SKILL_FILE} is not a text file`)
}

function findOffered(typed: string, sources: ViewSources): Result<FoundSkill, SkillNotFound> {
  const found = findSkill(typed, sources)
  if (!found.ok || found.value.kind === "file" || sources.isNamedByUser === true) return found
  const { skill } = found.value
  if (skillState(skill, sources.circumstances) === "disabled")
    return refused(`the skill ${skill.name} is disabled; the user enables it with: hermes skills enable ${skill.name}`)
  return found
}

function placeOf(found: FoundSkill): {
  readonly name: string
  readonly file: string
  readonly directory: string
  readonly source: SkillSource
} {
  if (found.kind === "file") {
    const directory = found.path.slice(0, -basename(found.path).length - 1)
    return { name: found.name, file: found.path, directory, source: "home" }
  }
  const { name, directory, source } = found.skill
  return { name, file: `${directory}/${SKILL_FILE}`, directory, source }
}

/** Skills that nobody installed into the home were never scanned, so their text is scanned when it is loaded. */
async function checkText(
  name: string,
  text: string,
  { source, loadJudge }: Pick<ViewSources, "loadJudge"> & { readonly source: SkillSource },
): Promise<Result<undefined, SkillNotFound>> {
  if (source === "home" || source === "external") return ok(undefined)
  const { verdict, findings } = scanSkillText(text, await loadJudge())
  if (verdict !== "dangerous") return ok(undefined)
  const critical = findings.filter(({ severity }) => severity === "critical")
  const lines = findingLines(critical.map((finding) => ({ ...finding, file: name })))
  return refused(`the skill is not loaded, because its text is dangerous: ${lines.join("; ")}. Tell the user.`)
}

function homeRoot({ roots }: Pick<ViewSources, "roots">): string {
  return roots.find(({ kind }) => kind === "home")?.path ?? ""
}

export function settingValue(key: string, settings: Readonly<Record<string, unknown>>): string | undefined {
  const nested = key
    .split(".")
    .reduce<unknown>(
      (value, part) => (typeof value === "object" && value !== null ? Reflect.get(value, part) : undefined),
      settings,
    )
  const value = settings[key] ?? nested
  return value === undefined || value === null ? undefined : valueText(value)
}

function refused(message: string): { readonly ok: false; readonly error: SkillNotFound } {
  return fail({ message, suggestions: [] })
}

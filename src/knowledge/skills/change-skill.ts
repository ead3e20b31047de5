import { cpSync, existsSync, readFileSync, realpathSync, renameSync, rmdirSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"

import { assertNever } from "../../base/assert-never.ts"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import type { Clock } from "../../base/clock.ts"
import { isInside } from "../../base/is-inside.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { checkName, checkSkillText, checkSupportFile, checkSupportPath } from "./check-skill.ts"
import { findSkill } from "./find-skill.ts"
import type { JudgeSnippets } from "./guard/command-risk.ts"
import { findingLines, guardDecision } from "./guard/guard-policy.ts"
import { scanSkill } from "./guard/scan-skill.ts"
import { similarSkill } from "./similar-skill.ts"
import { refusedChange, type SkillChange, type SkillChangeResult } from "./skill-change.ts"
import { filesBelow } from "./skill-files.ts"
import { isPinned, recordUsage, type UsageEvent } from "./skill-usage.ts"
import { SKILL_FILE, type Skill, type SkillRoot } from "./skill.ts"

export interface ChangeSources {
  readonly skills: readonly Skill[]
  readonly roots: readonly SkillRoot[]
  /** `skills.guard_agent_created`: scan the changed skill and undo the change where the guard blocks it. */
  readonly isGuarded: boolean
  /** Asks the user about a skill that the guard found dangerous. */
  readonly accept: (question: string) => Promise<boolean>
  readonly loadJudge: () => Promise<JudgeSnippets>
  readonly clock: Clock
}

/** Carries out one change in the home, completely or not at all. */
export async function changeSkill(change: SkillChange, sources: ChangeSources): Promise<SkillChangeResult> {
  const planned = plan(change, sources)
  if (!planned.ok) return { ...refusedChange(planned.error.message), ...similarField(planned.error) }
  try {
    return await carryOut(planned.value, change, sources)
  } catch (error) {
    return refusedChange(`the skill could not be changed: ${explainSystemError(error)}`)
  }
}

/** Whether a change would be accepted. Changes nothing. */
export function checkChange(change: SkillChange, sources: ChangeSources): Result<undefined, PlanFailure> {
  const planned = plan(change, sources)
  return planned.ok ? ok(undefined) : planned
}

export interface PlanFailure {
  readonly message: string
  readonly similar?: string
}

interface PlannedChange {
  readonly directory: string
  readonly category: string
  /** The file that changes; undefined when the whole skill is removed. */
  readonly file: string | undefined
  /** The new content; undefined removes the file or the skill. */
  readonly content: string | undefined
  readonly event: UsageEvent
  readonly message: string
}

function plan(change: SkillChange, sources: ChangeSources): Result<PlannedChange, PlanFailure> {
  const named = checkName("name", change.name)
  if (!named.ok) return fail({ message: named.error })
  return change.action === "create" ? planCreation(change, sources) : planExisting(change, sources)
}

function planCreation(
  { name, category, content }: Extract<SkillChange, { action: "create" }>,
  sources: ChangeSources,
): Result<PlannedChange, PlanFailure> {
  const checked = checkSkillText(content, name)
  if (!checked.ok) return fail({ message: checked.error })
  const placed = category === "" ? ok(undefined) : checkName("category", category)
  if (!placed.ok) return fail({ message: placed.error })
  const existing = findSkill(name, sources)
  if (existing.ok || existing.error.message.startsWith("several"))
    return fail({ message: `there is already a skill ${name}; change it with edit or patch, or choose another name` })
  const similar = similarSkill(
    checked.value,
    sources.skills.filter(({ source }) => source === "home"),
  )
  if (similar !== undefined)
    return fail({
      message:
        `the skill ${similar.name} already covers this ("${similar.description.slice(0, 200)}"). Improve it with patch or edit ` +
        "instead of adding another one; if this is something else, say so in the name and the description",
      similar: similar.name,
    })
  const directory = join(homeRoot(sources), category, name)
  if (existsSync(directory)) return fail({ message: `${directory} exists already; choose another name` })
  const message = `created the skill ${name}; new sessions list it, and /${name} works now`
  return ok({ directory, category, file: SKILL_FILE, content, event: { kind: "created" }, message })
}

function planExisting(
  change: Exclude<SkillChange, { action: "create" }>,
  sources: ChangeSources,
): Result<PlannedChange, PlanFailure> {
  const found = findSkill(change.name, sources)
  if (!found.ok) {
    const near = found.error.suggestions.slice(0, 5)
    return fail({ message: `${found.error.message}${near.length === 0 ? "" : `; there are: ${near.join(", ")}`}` })
  }
  if (found.value.kind === "file")
    return fail({ message: `${change.name} is a single file, not a directory with a ${SKILL_FILE}; create it anew` })
  const { skill } = found.value
  if (skill.source !== "home")
    return fail({ message: `the skill ${skill.name} is in ${skill.directory}, which Hermes only reads` })
  const planned = { directory: skill.directory, category: skill.category }
  const root = homeRoot(sources)
  if (!isInside(realpathSync(skill.directory), realpathSync(root)))
    return fail({ message: `the skill ${skill.name} is a link that leaves ${root}, so it is not changed` })
  switch (change.action) {
    case "edit": {
      const checked = checkSkillText(change.content, skill.name)
      if (!checked.ok) return fail({ message: checked.error })
      const message = `changed the skill ${skill.name}`
      return ok({ ...planned, file: SKILL_FILE, content: change.content, event: { kind: "patched" }, message })
    }
    case "write_file": {
      const checked = checkSupportFile(change.filePath, change.content)
      if (!checked.ok) return fail({ message: checked.error })
      const message = `wrote ${change.filePath} of the skill ${skill.name}`
      return ok({ ...planned, file: change.filePath, content: change.content, event: { kind: "patched" }, message })
    }
    case "remove_file": {
      const checked = checkSupportPath(change.filePath)
      if (!checked.ok) return fail({ message: checked.error })
      if (!existsSync(join(skill.directory, change.filePath)))
        return fail({ message: `the skill ${skill.name} has no file ${change.filePath}` })
      const message = `removed ${change.filePath} from the skill ${skill.name}`
      return ok({ ...planned, file: change.filePath, content: undefined, event: { kind: "patched" }, message })
    }
    case "delete": {
      const refusal = deletionRefusal(skill, change.absorbedInto, sources)
      if (refusal !== undefined) return fail({ message: refusal })
      const event: UsageEvent = { kind: "deleted", absorbedInto: change.absorbedInto }
      return ok({ ...planned, file: undefined, content: undefined, event, message: `deleted the skill ${skill.name}` })
    }
    default:
      return assertNever(change)
  }
}

function deletionRefusal(skill: Skill, absorbedInto: string, sources: ChangeSources): string | undefined {
  const root = homeRoot(sources)
  if (isPinned(root, skill.name)) return `the skill ${skill.name} is pinned, so only the user deletes it`
  if (skill.bundled) return `the skill ${skill.name} belongs to Hermes; the user can disable it instead`
  const others = sources.skills.filter(
    ({ directory }) => directory !== skill.directory && isInside(directory, skill.directory),
  )
  if (others.length > 0) return `${skill.directory} contains other skills too, so it is not deleted`
  if (absorbedInto === "") return undefined
  const survivor = findSkill(absorbedInto, sources)
  return survivor.ok ? undefined : `absorbed_into names ${absorbedInto}, but ${survivor.error.message}`
}

async function carryOut(
  { directory, category, file, content, event, message }: PlannedChange,
  change: SkillChange,
  sources: ChangeSources,
): Promise<SkillChangeResult> {
  const root = homeRoot(sources)
  const path = file === undefined ? directory : join(directory, file)
  const before = file === undefined ? readText(join(directory, SKILL_FILE)) : readText(path)
  const undo = backUp(directory, root)
  try {
    if (file === undefined) rmSync(directory, { recursive: true })
    else if (content === undefined) rmSync(path)
    else {
      makeDirectories(dirname(path))
      if (!isInside(realpathSync(dirname(path)), realpathSync(root)))
        throw new Error(`${path} is behind a link that leaves the skills`)
      writeFileAtomic(path, content, { refuseLink: true })
    }
    const blocked = file === undefined || !sources.isGuarded ? undefined : await guardRefusal(directory, sources)
    if (blocked !== undefined) {
      undo.restore()
      return refusedChange(blocked)
    }
  } catch (error) {
    undo.restore()
    throw error
  } finally {
    undo.discard()
  }
  await recordUsage(root, { name: change.name, event, clock: sources.clock })
  const files = file === undefined ? [] : filesBelow(directory, { limit: 100 })
  return { kind: "done", message, path, category, files, before, after: content }
}

async function guardRefusal(directory: string, { accept, loadJudge }: ChangeSources): Promise<string | undefined> {
  const { verdict, findings } = scanSkill(directory, await loadJudge())
  const decision = guardDecision({ trust: "agent-created", verdict })
  if (decision === "allow") return undefined
  const lines = findingLines(findings.filter(({ severity }) => severity === "critical"))
  if (decision === "ask" && (await accept(`The skill contains:\n${lines.join("\n")}\nKeep it anyway?`)))
    return undefined
  return `the change was undone, because the guard found: ${lines.join("; ")}. Remove that and try again`
}

/** Keeps a copy of a skill until its change is complete. */
function backUp(directory: string, root: string): { restore(): void; discard(): void } {
  if (!existsSync(directory)) {
    return {
      restore: () => {
        rmSync(directory, { recursive: true, force: true })
        removeEmptyCategory(dirname(directory), root)
      },
      discard: () => undefined,
    }
  }
  const copy = join(root, `.change-${randomHex(6)}`)
  cpSync(directory, copy, { recursive: true, verbatimSymlinks: true })
  return {
    restore: () => {
      rmSync(directory, { recursive: true, force: true })
      renameSync(copy, directory)
    },
    discard: () => {
      rmSync(copy, { recursive: true, force: true })
    },
  }
}

function removeEmptyCategory(directory: string, root: string): void {
  if (directory === root || !isInside(directory, root)) return
  try {
    rmdirSync(directory)
  } catch {
    // Other skills are in it.
  }
}

function homeRoot({ roots }: ChangeSources): string {
  const home = roots.find(({ kind }) => kind === "home")
  if (home === undefined) throw new Error("there is no root for skills that can be written")
  return home.path
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch {
    // There was none.
    return undefined
  }
}

function similarField({ similar }: PlanFailure): { readonly similar?: string } {
  return similar === undefined ? {} : { similar }
}

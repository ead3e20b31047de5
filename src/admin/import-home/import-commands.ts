import { dirname } from "node:path"

import { judgeSnippets } from "../../app/skills/judge-snippets.ts"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import { explainSystemError, isNotFound } from "../../base/system-error.ts"
import { findingLines, guardDecision } from "../../knowledge/skills/guard/guard-policy.ts"
import { scanSkillText } from "../../knowledge/skills/guard/scan-skill.ts"
import type { HomeContext } from "../home-context.ts"
import type { ForeignFiles } from "./foreign-files.ts"
import type { ForeignHome } from "./foreign-home.ts"
import type { CategoryReport, ImportItem } from "./import-report.ts"

export interface CommandImport extends Pick<HomeContext, "home"> {
  readonly foreign: ForeignHome
  readonly dryRun: boolean
  readonly redact: (text: string) => string
}

const MAX_BYTES = 100_000
const MAX_DEPTH = 3
/** A file name that is safe in every file system and can be typed as a command. */
const SEGMENT = /^[\p{L}\p{N}][\p{L}\p{N}_.-]{0,63}$/u

/** Copies prompt commands: Markdown files in `commands/` of Claude Code and `prompts/` of Codex. */
export function importCommands(options: CommandImport): CategoryReport {
  const { agent, files } = options.foreign
  const directory = agent === "codex" ? "prompts" : "commands"
  const items =
    agent === "openclaw" ? [] : markdownBelow(files, directory, 1).map((path) => importCommand(path, options))
  const subAgents = agent === "claude-code" ? markdownBelow(files, "agents", 1).length : 0
  const notes = subAgents === 0 ? [] : [`Not imported: the definitions of sub-agents in agents/ (${subAgents}).`]
  return { category: "commands", items, notes }
}

function markdownBelow(files: ForeignFiles, directory: string, depth: number): readonly string[] {
  return files.list(directory).flatMap(({ name, path, kind }) => {
    if (kind === "directory") return depth < MAX_DEPTH ? markdownBelow(files, path, depth + 1) : []
    return name.endsWith(".md") ? [path] : []
  })
}

function importCommand(path: string, { foreign, home, dryRun, redact }: CommandImport): ImportItem {
  const segments = path.replace(/\.md$/u, "").split("/").slice(1)
  const name = `/${segments.join(":")}`
  const skipped = (detail: string): ImportItem => ({ name, outcome: "skipped", detail })
  if (!segments.every((segment) => SEGMENT.test(segment)))
    return skipped("its name has characters that are not allowed")
  const original = foreign.files.read(path, { maxBytes: MAX_BYTES })
  if (original === undefined) return skipped("it cannot be read")
  if (original.trim() === "" || original.includes("\0")) return skipped("it is not a text")
  const { verdict, findings } = scanSkillText(original, judgeSnippets)
  if (guardDecision({ trust: "community", verdict }) !== "allow")
    return skipped(
      [`the scan says ${verdict}:`, ...findingLines(findings).map((line) => line.replace(/^SKILL\.md/u, path))].join(
        "\n",
      ),
    )
  const text = redact(withoutModel(original))
  const target = `${home.file("commands", ...segments)}.md`
  try {
    const present = readExisting(target)
    if (present !== undefined)
      return present === text ? { name, outcome: "already-there" } : skipped("you have another command of that name")
    if (!dryRun) {
      makeDirectories(dirname(target))
      writeFileAtomic(target, text, { mode: 0o600 })
    }
    return { name, outcome: "imported", detail: home.display(target) }
  } catch (error) {
    return skipped(explainSystemError(error))
  }
}

/** In a file of the home, `model` is the choice of the user, who made it for another agent. */
function withoutModel(text: string): string {
  const [frontMatter = ""] = /^---[^\S\n]*\r?\n[^]*?\n---[^\S\n]*(?=\r?\n|$)/u.exec(text) ?? []
  return frontMatter.replaceAll(/^["']?model["']?[^\S\n]*:.*\r?\n/gmu, "") + text.slice(frontMatter.length)
}

function readExisting(path: string): string | undefined {
  try {
    return readRegularFile(path, { maxBytes: MAX_BYTES }).bytes.toString("utf8")
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

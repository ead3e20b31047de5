import { readdirSync } from "node:fs"
import type { Dirent } from "node:fs"
import { join } from "node:path"

import { readRegularFile } from "../../base/regular-file.ts"
import { readFrontMatter } from "../../knowledge/skills/front-matter.ts"

/** A Markdown file of the user or of a project that can be sent as a message, by its name. */
export interface PromptCommand {
  /** `review`, or `git:review` for `git/review.md`. */
  readonly name: string
  readonly path: string
  readonly source: PromptSource
}

/** `project`: files of the working directory, which others may have written. */
export type PromptSource = "home" | "project" | "claude-code" | "codex"

export interface PromptContent {
  readonly description: string
  readonly argumentHint: string | undefined
  /** Only of the user's own files: a project does not choose what is paid for. */
  readonly model: string | undefined
  readonly body: string
}

export interface PromptFolders {
  readonly homePath: string
  readonly userHome: string
  readonly cwd: string
}

const MAX_FILES = 500
const MAX_DEPTH = 4
const MAX_BYTES = 200_000
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}_.-]*$/u

/** All prompt commands. A name of the home wins over one of the project, and both over those of other programs. */
export function listPromptCommands(folders: PromptFolders): readonly PromptCommand[] {
  const found = new Map<string, PromptCommand>()
  for (const { directory, source } of promptDirectories(folders)) {
    for (const { name, path } of markdownFiles(directory, "", MAX_DEPTH)) {
      if (found.size >= MAX_FILES) break
      if (!found.has(name)) found.set(name, { name, path, source })
    }
  }
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** Throws the system error, or `UnusableFileError`. */
export function readPromptCommand({ path, source }: Pick<PromptCommand, "path" | "source">): PromptContent {
  const { fields, body } = readFrontMatter(readRegularFile(path, { maxBytes: MAX_BYTES }).bytes.toString("utf8"))
  const field = (name: string): string => {
    const value = fields[name]
    return typeof value === "string" ? value.trim() : ""
  }
  const model = field("model")
  const hint = field("argument-hint")
  return {
    description: field("description") === "" ? (body.trim().split("\n", 1)[0] ?? "") : field("description"),
    argumentHint: hint === "" ? undefined : hint,
    model: model === "" || source !== "home" ? undefined : model,
    body: body.trim(),
  }
}

/**
 * Puts the arguments into a prompt: `$ARGUMENTS` is all of them, `$1` to `$9` one word or quoted text each. A prompt without any of
 * these gets them at its end. Nothing else is replaced, and nothing is run.
 */
export function fillPrompt(body: string, argument: string): string {
  const text = argument.trim()
  const words = Array.from(
    text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/gu),
    ([, double, single, plain]) => double ?? single ?? plain ?? "",
  )
  let isUsed = false
  // One pass, so that a $1 in an argument stays as it is.
  const filled = body.replaceAll(/\$(ARGUMENTS\b|[1-9](?!\d))/gu, (_match, name: string) => {
    isUsed = true
    return name === "ARGUMENTS" ? text : (words[Number(name) - 1] ?? "")
  })
  return isUsed || text === "" ? filled : `${filled}\n\n${text}`
}

function promptDirectories({
  homePath,
  userHome,
  cwd,
}: PromptFolders): readonly { readonly directory: string; readonly source: PromptSource }[] {
  return [
    { directory: join(homePath, "commands"), source: "home" },
    { directory: join(cwd, ".hermes", "commands"), source: "project" },
    { directory: join(cwd, ".claude", "commands"), source: "project" },
    { directory: join(userHome, ".claude", "commands"), source: "claude-code" },
    { directory: join(userHome, ".codex", "prompts"), source: "codex" },
  ]
}

function markdownFiles(
  directory: string,
  prefix: string,
  depth: number,
): readonly { readonly name: string; readonly path: string }[] {
  return entriesOf(directory).flatMap((entry) => {
    const path = join(directory, entry.name)
    if (entry.isDirectory())
      return depth > 1 && NAME.test(entry.name) ? markdownFiles(path, `${prefix}${entry.name}:`, depth - 1) : []
    const base = /^(.+)\.md$/iu.exec(entry.name)?.[1]
    return base !== undefined && NAME.test(base) && !entry.isSymbolicLink()
      ? [{ name: `${prefix}${base}`.toLowerCase(), path }]
      : []
  })
}

function entriesOf(directory: string): readonly Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  } catch {
    // Most of these folders do not exist, and one that cannot be read has no commands.
    return []
  }
}

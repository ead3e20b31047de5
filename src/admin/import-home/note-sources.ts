import { assertNever } from "../../base/assert-never.ts"
import type { MemoryTarget } from "../../knowledge/memory/memory-file.ts"
import type { ForeignFiles } from "./foreign-files.ts"
import type { ForeignHome } from "./foreign-home.ts"
import type { ImportCategory } from "./import-report.ts"

/** A Markdown file with facts or rules. */
export interface NoteSource {
  readonly category: Extract<ImportCategory, "memories" | "rules">
  readonly path: string
  readonly text: string
  /** Where it belongs in Hermes. `file`: about one project or one day, so it is not for every prompt. */
  readonly target: MemoryTarget | "file" | "soul"
}

const MAX_NOTE_BYTES = 1_000_000

export function findNotes(home: ForeignHome): readonly NoteSource[] {
  const { files, beside } = home
  switch (home.agent) {
    case "openclaw": {
      const workspaces = files
        .list("")
        .filter(({ name, kind }) => kind === "directory" && /^workspace(?:-|$)/u.test(name))
      return [
        ...workspaces.flatMap(({ path }) => workspaceNotes(files, `${path}/`)),
        ...(beside === undefined ? [] : workspaceNotes(beside, "")),
      ]
    }
    case "claude-code":
      return [
        ...read(files, ["CLAUDE.md"], { category: "rules", target: "memory" }),
        ...read(files, markdownBelow(files, "rules"), { category: "rules", target: "memory" }),
        ...files
          .list("projects")
          .flatMap(({ path }) =>
            read(files, markdownBelow(files, `${path}/memory`), { category: "memories", target: "file" }),
          ),
      ]
    case "codex":
      return [
        ...read(files, ["AGENTS.override.md", "AGENTS.md", "instructions.md"], { category: "rules", target: "memory" }),
        ...read(files, markdownBelow(files, "memories"), { category: "memories", target: "file" }),
      ]
    default:
      return assertNever(home.agent)
  }
}

function workspaceNotes(files: ForeignFiles, directory: string): readonly NoteSource[] {
  const at = (...names: readonly string[]): readonly string[] => names.map((name) => `${directory}${name}`)
  const known = new Set(files.list(directory.replace(/\/$/u, "")).map(({ name }) => name))
  // A file system that ignores case has one file with two names.
  const memory = known.has("MEMORY.md") ? "MEMORY.md" : "memory.md"
  return [
    ...read(files, at("SOUL.md"), { category: "memories", target: "soul" }),
    ...read(files, at("USER.md"), { category: "memories", target: "user" }),
    ...read(files, at(memory), { category: "memories", target: "memory" }),
    ...read(files, markdownBelow(files, `${directory}memory`), { category: "memories", target: "file" }),
    ...read(files, at("AGENTS.md", "TOOLS.md"), { category: "rules", target: "memory" }),
  ]
}

function read(
  files: ForeignFiles,
  paths: readonly string[],
  kind: Pick<NoteSource, "category" | "target">,
): readonly NoteSource[] {
  return paths.flatMap((path) => {
    const text = files.read(path, { maxBytes: MAX_NOTE_BYTES })
    return text === undefined || text.trim() === "" ? [] : [{ ...kind, path, text }]
  })
}

const MAX_DEPTH = 3

function markdownBelow(files: ForeignFiles, directory: string, depth = 1): readonly string[] {
  return files.list(directory).flatMap(({ name, path, kind }) => {
    if (kind === "directory") return depth < MAX_DEPTH ? markdownBelow(files, path, depth + 1) : []
    return /\.md$/iu.test(name) ? [path] : []
  })
}

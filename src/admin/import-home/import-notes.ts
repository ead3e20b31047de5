import { dirname } from "node:path"

import { DEFAULT_IDENTITY } from "../../agent/prompt/build-prompt.ts"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import { counted } from "../../base/counted.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import { isNotFound } from "../../base/system-error.ts"
import { codePointLength, ellipsize } from "../../base/text.ts"
import { planWrite, validateWrite } from "../../knowledge/memory/memory-edit.ts"
import { joinEntries, MEMORY_TARGETS, memoryPaths, readMemoryFile } from "../../knowledge/memory/memory-file.ts"
import type { MemoryTarget } from "../../knowledge/memory/memory-file.ts"
import { memoryStoreOptions } from "../../knowledge/memory/memory-settings.ts"
import { createMemoryStore, type MemoryStore } from "../../knowledge/memory/memory-store.ts"
import { listStagedWrites } from "../../knowledge/memory/staged-writes.ts"
import { scanThreats } from "../../knowledge/threat-scan.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { AGENT_TITLES, type ForeignHome } from "./foreign-home.ts"
import type { CategoryReport, ImportItem } from "./import-report.ts"
import { createNearDuplicates, splitNotes } from "./note-entries.ts"
import { findNotes, type NoteSource } from "./note-sources.ts"

export interface NoteImport {
  readonly foreign: ForeignHome
  readonly loaded: LoadedHome
  readonly dryRun: boolean
  readonly redact: (text: string) => string
}

/** A part of the memory stays free, so that the agent can still add to it. */
const FILLED_PART = 0.8
const NAME_CHARS = 80
/** More than any user wrote by hand. */
const MAX_ENTRIES = 2000
const MAX_DIFFERENCES = 20
const MAX_FILE_BYTES = 20_000_000

/**
 * Imports facts and rules into the memory files, as far as they have room; the rest goes to a file in the home. Nothing that is there
 * already is replaced: near-duplicates are left out, and `SOUL.md` is only written where it is untouched.
 */
export async function importNotes(category: NoteSource["category"], options: NoteImport): Promise<CategoryReport> {
  const { loaded, foreign, dryRun } = options
  const { home } = loaded
  const memory = openMemory(options)
  const restPath = home.file("imported", foreign.agent, `${category}.md`)
  const kept = readEntries(restPath)
  const rest: string[] = []
  const items: ImportItem[] = []
  const known = createNearDuplicates([...memory.entries("memory"), ...memory.entries("user"), ...kept])
  let remaining = MAX_ENTRIES
  for (const source of findNotes(foreign).filter((note) => note.category === category)) {
    if (source.target === "soul") {
      items.push(importSoul(source, options))
      continue
    }
    for (const { text: original, line } of splitNotes(source.text)) {
      remaining -= 1
      if (remaining < 0) break
      const text = options.redact(original)
      const item = { name: ellipsize(text.replaceAll(/\s+/gu, " "), NAME_CHARS, "…") }
      const threats = scanThreats(text, "strict")
      if (threats.length > 0) {
        items.push({ ...item, outcome: "skipped", detail: `${source.path}:${line} looks like ${threats.join(", ")}` })
        continue
      }
      if (known.has(text)) {
        items.push({ ...item, outcome: "already-there" })
        continue
      }
      if (source.target === "user" && memory.hadUserEntries) {
        items.push({ ...item, outcome: "proposed", detail: `only in its ${source.path}; yours has other entries` })
        continue
      }
      known.add(text)
      const added = source.target === "file" ? "no-room" : await memory.add(source.target, text)
      if (added === "no-room") rest.push(text)
      items.push(
        added === "no-room" ? { ...item, outcome: "imported", detail: home.display(restPath) } : { ...item, ...added },
      )
    }
  }
  if (rest.length > 0 && !dryRun) {
    makeDirectories(dirname(restPath))
    const title = `# ${category === "rules" ? "Rules" : "Notes"} of ${AGENT_TITLES[foreign.agent]} that are not part of the memory`
    writeFileAtomic(restPath, `${joinEntries([...(kept.length === 0 ? [title] : kept), ...rest])}\n`, { mode: 0o600 })
  }
  return {
    category,
    items,
    notes: [
      ...(rest.length === 0
        ? []
        : [
            `Not part of the memory: ${counted(rest.length, "note")} in ${home.display(restPath)}, which the model does not see unless you name the file.`,
          ]),
      ...(remaining < 0 ? [`Only the first ${MAX_ENTRIES} notes were read; the rest is left out.`] : []),
    ],
  }
}

interface ImportedMemory {
  readonly hadUserEntries: boolean
  /** Includes what was added since, also in a dry run, and writes that wait for approval. */
  entries(target: MemoryTarget): readonly string[]
  add(target: MemoryTarget, text: string): Promise<"no-room" | Pick<ImportItem, "outcome" | "detail">>
}

function openMemory({ loaded, dryRun }: NoteImport): ImportedMemory {
  const { home, config, clock } = loaded
  const options = memoryStoreOptions({ home: home.path, config, clock })
  const { memoryPath, userPath, stagingPath } = memoryPaths(home.path)
  const paths = { memory: memoryPath, user: userPath }
  const staged = listStagedWrites(stagingPath).flatMap(({ write }) =>
    write.action === "remove" ? [] : [{ target: write.target, content: write.content }],
  )
  const files = Object.fromEntries(
    MEMORY_TARGETS.map((target) => {
      const content = readMemoryFile({ path: paths[target], limitChars: options.limits[target] })
      const isUsable = content.kind === "usable" && options.disabled?.includes(target) !== true
      const present = content.kind === "unreadable" ? [] : content.entries
      const waiting = staged.flatMap((write) => (write.target === target ? [write.content] : []))
      return [target, { isUsable, entries: [...present, ...waiting] }]
    }),
  )
  const hadUserEntries = (files["user"]?.entries.length ?? 0) > 0
  let store: MemoryStore | undefined
  return {
    hadUserEntries,
    entries: (target) => files[target]?.entries ?? [],
    add: async (target, text) => {
      const file = files[target]
      const write = validateWrite({ action: "add", target, content: text })
      if (file === undefined || !file.isUsable || "kind" in write) return "no-room"
      const plan = planWrite(write, file.entries, options.limits[target] * FILLED_PART)
      if (plan.kind !== "change") return "no-room"
      const where = home.display(paths[target])
      if (!dryRun) {
        store ??= createMemoryStore(options)
        const result = await store.add(target, text)
        if (result.kind === "refused") return { outcome: "skipped", detail: result.error }
      }
      file.entries = [...plan.entries]
      return options.stage === undefined
        ? { outcome: "imported", detail: where }
        : { outcome: "proposed", detail: "waits for your approval: `/memory pending`" }
    },
  }
}

function importSoul({ path, text }: NoteSource, { loaded, dryRun, redact }: NoteImport): ImportItem {
  const { home, config } = loaded
  const own = home.file("SOUL.md")
  const theirs = redact(text).trim()
  const item = { name: "SOUL.md" }
  const threats = scanThreats(theirs, "context")
  if (threats.length > 0) return { ...item, outcome: "skipped", detail: `${path} looks like ${threats.join(", ")}` }
  const current = readText(own).trim()
  if (current === theirs) return { ...item, outcome: "already-there" }
  if (current !== "" && current !== DEFAULT_IDENTITY.trim()) {
    const mine = new Set(current.split("\n"))
    const lines = theirs.split("\n").filter((line) => line.trim() !== "" && !mine.has(line))
    const more = lines.length > MAX_DIFFERENCES ? [`… and ${lines.length - MAX_DIFFERENCES} more lines`] : []
    const shown = [...lines.slice(0, MAX_DIFFERENCES).map((line) => `+ ${line}`), ...more]
    return {
      ...item,
      outcome: "proposed",
      detail: [`yours is changed and stays; only in its ${path}:`, ...shown].join("\n"),
    }
  }
  const limit = config.get("context_file_max_chars")
  if (codePointLength(theirs) > limit)
    return { ...item, outcome: "skipped", detail: `${path} has more than ${limit} characters` }
  if (!dryRun) writeFileAtomic(own, `${theirs}\n`, { mode: 0o600 })
  return { ...item, outcome: "imported", detail: home.display(own) }
}

function readText(path: string): string {
  try {
    return readRegularFile(path, { maxBytes: MAX_FILE_BYTES }).bytes.toString("utf8")
  } catch (error) {
    if (isNotFound(error)) return ""
    throw error
  }
}

function readEntries(path: string): readonly string[] {
  return readText(path)
    .split("\n§\n")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
}

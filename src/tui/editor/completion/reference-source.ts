import { fuzzyFilter } from "../../../base/fuzzy-score.ts"
import { visibleName } from "../../../base/visible-text.ts"
import type { Completion, CompletionSource } from "./completion-source.ts"
import { NO_COMPLETIONS } from "./completion-source.ts"

/** What `@` can refer to. */
export interface ReferenceData {
  /** Paths of the project, relative to the working directory, with `/`. */
  readonly files: (signal: AbortSignal) => Promise<readonly string[]>
  readonly sessions: (signal: AbortSignal) => Promise<readonly NamedReference[]>
  readonly skills: (signal: AbortSignal) => Promise<readonly NamedReference[]>
}

export interface NamedReference {
  readonly name: string
  readonly detail: string
}

const MAX_ITEMS = 50

const FORMS: readonly Completion[] = [
  { text: "@file:", detail: "a file, or lines of it: @file:src/a.ts:10-20" },
  { text: "@folder:", detail: "the files in a folder" },
  { text: "@diff ", label: "@diff", detail: "changes that are not staged" },
  { text: "@staged ", label: "@staged", detail: "staged changes" },
  { text: "@git:", detail: "the last commits: @git:3" },
  { text: "@url:", detail: "a web page" },
  { text: "@session:", detail: "an earlier conversation" },
  { text: "@skill:", detail: "a skill" },
]

/** Completes `@` references: the forms, then files, folders, sessions and skills. */
export function referenceSource(data: ReferenceData): CompletionSource {
  return {
    complete: async (text, cursor, signal) => {
      const word = /(?<![\p{L}\p{N}_/])@((?:file|folder):(["'`])(?:(?!\2)[^\n])*|[^\s@]*)$/u.exec(text.slice(0, cursor))
      if (word === null) return NO_COMPLETIONS
      return {
        start: word.index,
        end: cursor,
        items: (await itemsFor(word[1] ?? "", data, signal)).slice(0, MAX_ITEMS),
      }
    },
  }
}

async function itemsFor(typed: string, data: ReferenceData, signal: AbortSignal): Promise<readonly Completion[]> {
  const [, kind, , value = ""] = /^(file|folder|session|skill|git|url):(["'`]?)(.*)$/su.exec(typed) ?? []
  switch (kind) {
    case "file":
      return fileItems(value, await data.files(signal))
    case "folder":
      return fuzzyFilter(value, foldersOf(await data.files(signal)), (path) => path).map((path) => item("folder", path))
    case "session":
      return namedItems("session", value, await data.sessions(signal))
    case "skill":
      return namedItems("skill", value, await data.skills(signal))
    case "git":
    case "url":
      return []
    default: {
      const forms = FORMS.filter(({ text }) => text.startsWith(`@${typed.toLowerCase()}`))
      return typed === "" ? forms : [...forms, ...fileItems(typed, await data.files(signal))]
    }
  }
}

function fileItems(query: string, files: readonly string[]): readonly Completion[] {
  return fuzzyFilter(query, files, (path) => path).map((path) => item("file", path))
}

/** Those with a matching name, then those whose description contains the text. */
function namedItems(kind: string, query: string, names: readonly NamedReference[]): readonly Completion[] {
  const named = fuzzyFilter(query, names, ({ name }) => name)
  const described = names.filter(
    (entry) => !named.includes(entry) && entry.detail.toLowerCase().includes(query.toLowerCase()),
  )
  return [...named, ...described].map(({ name, detail }) => ({ ...item(kind, name), detail }))
}

function item(kind: string, value: string): Completion {
  const quote = /\s/u.test(value) ? (['"', "'", "`"].find((mark) => !value.includes(mark)) ?? '"') : ""
  return { text: `@${kind}:${quote}${value}${quote} `, label: visibleName(value) }
}

function foldersOf(files: readonly string[]): ReadonlySet<string> {
  const folders = new Set<string>()
  for (const file of files)
    for (let end = file.indexOf("/"); end !== -1; end = file.indexOf("/", end + 1)) folders.add(file.slice(0, end))
  return folders
}

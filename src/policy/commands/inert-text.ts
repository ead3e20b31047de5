import type { ShellWord, SimpleCommand, UnderstoodCommand } from "../shell/understood-command.ts"
import { programName } from "./invocation.ts"

/**
 * The text of a line without words that no program runs: messages of commits, patterns of searches. What is not completely understood
 * keeps every word.
 */
export function withoutInertText(understood: UnderstoodCommand, views: readonly string[]): readonly string[] {
  if (understood.doubts.length > 0) return views
  const inert = understood.commands.flatMap(inertWords).filter(({ text, known }) => known && text.trim().length > 3)
  return inert.length === 0 ? views : views.map((view) => inert.reduce((text, word) => blank(text, word, inert), view))
}

/** A word that also stands elsewhere in the line may be a command there, so it stays. */
function blank(view: string, word: ShellWord, inert: readonly ShellWord[]): string {
  const text = word.text.normalize("NFKC")
  const times = view.split(text).length - 1
  return times === inert.filter((other) => other.text === word.text).length ? view.replaceAll(text, "") : view
}

function inertWords({ argv, program }: SimpleCommand): readonly ShellWord[] {
  const name = programName(program ?? "")
  const words = argv.slice(1)
  if (SEARCHES.has(name)) return words.filter(({ text }) => !text.startsWith("-"))
  const [action = "", second = ""] = words.map(({ text }) => text).filter((text) => !text.startsWith("-"))
  if (name === "git" && action === "grep") return words.slice(1)
  const describes =
    (name === "git" && ["commit", "tag", "notes", "log", "stash", "merge", "shortlog"].includes(action)) ||
    (name === "gh" &&
      ["pr", "issue", "release"].includes(action) &&
      ["create", "comment", "edit", "review", "list"].includes(second))
  return describes
    ? words.filter(
        (_word, index) =>
          MESSAGE_OPTION.test(words[index - 1]?.text ?? "") || MESSAGE_VALUE.test(words[index]?.text ?? ""),
      )
    : []
}

const SEARCHES = new Set(["grep", "egrep", "fgrep", "rg", "ag", "ack", "ugrep", "zgrep"])
const MESSAGE_OPTION = /^(?:-[a-z]*m|--message|--grep|-[GS]|--title|--body|-[tb]|--search|--notes)$/u
const MESSAGE_VALUE = /^--(?:message|grep|title|body|search|notes)=/u

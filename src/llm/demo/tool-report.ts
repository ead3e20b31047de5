import { isRecord, stringField } from "../../base/json.ts"
import { ellipsize } from "../../base/text.ts"
import type { CompletedCall } from "./conversation.ts"

/** Describes what a call did, from its result alone. */
export function reportCall(call: CompletedCall): string {
  const { fields } = call.result
  if (isDenied(call)) return `${nameOf(call)} was not allowed, so nothing was done${because(fields)}`
  const report = REPORTS[call.tool]
  if (hasError(fields)) return `${nameOf(call)} failed${because(fields)}`
  return report?.(call) ?? `${nameOf(call)} returned: ${ellipsize(oneLine(call.result.text), MAX_LINE)}`
}

/** Whether the plan must not continue after this call. */
export function hasFailed(call: CompletedCall): boolean {
  const { fields } = call.result
  const exitCode = fields["exit_code"]
  return isDenied(call) || hasError(fields) || (typeof exitCode === "number" && exitCode !== 0)
}

/** Removes the line numbers of `read_file` (`12|text`). */
export function plainLines(content: string): readonly string[] {
  return content
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\d+\|/, ""))
}

const MAX_LINE = 300
const MAX_NAMES = 12
const MAX_LINES = 12

const REPORTS: Readonly<Record<string, (call: CompletedCall) => string | undefined>> = {
  search_files: ({ args, result: { fields } }) =>
    Array.isArray(fields["files"])
      ? reportFiles(fields["files"], fields)
      : reportMatches(stringField(args, "pattern") ?? "", fields),
  read_file: ({ args, result: { fields } }) => {
    const content = stringField(fields, "content")
    if (content === undefined) return undefined
    const lines = content === "" ? [] : plainLines(content)
    const total = numberField(fields, "total_lines") ?? lines.length
    const path = stringField(args, "path") ?? "The file"
    return total === 0 ? `${path} is empty.` : `${path} has ${count(total, "line")}:\n\n${block(lines, total)}`
  },
  write_file: ({ args, result: { fields } }) => {
    const bytes = numberField(fields, "bytes_written")
    const path = stringField(fields, "resolved_path") ?? stringField(args, "path") ?? "the file"
    return bytes === undefined ? undefined : `I wrote ${count(bytes, "byte")} to ${path}.`
  },
  patch: ({ args, result: { fields } }) => {
    const diff = stringField(fields, "diff")
    const path = stringField(fields, "resolved_path") ?? stringField(args, "path") ?? "the file"
    return diff === undefined ? `I changed ${path}.` : `I changed ${path}:\n\n${block(diff.trimEnd().split("\n"))}`
  },
  terminal: ({ args, result: { fields } }) => {
    const exitCode = numberField(fields, "exit_code")
    if (exitCode === undefined) return undefined
    const output = (stringField(fields, "output") ?? "").trimEnd()
    const ended = `\`${ellipsize(stringField(args, "command") ?? "", MAX_LINE)}\` ended with exit code ${exitCode}`
    return output === "" ? `${ended} and printed nothing.` : `${ended} and printed:\n\n${block(output.split("\n"))}`
  },
  memory: ({ args, result: { fields } }) => {
    if (args["action"] !== "read") {
      const where = args["target"] === "user" ? "your profile" : "memory"
      return `I added "${ellipsize(stringField(args, "content") ?? "", MAX_LINE)}" to ${where}; a new session will see it.`
    }
    const entries = strings(fields["entries"])
    return entries.length === 0
      ? "Memory is empty."
      : `Memory holds ${count(entries.length, "note")}:\n\n${bullets(entries)}`
  },
  todo: ({ result: { fields } }) => {
    if (!Array.isArray(fields["todos"])) return undefined
    const items = fields["todos"].flatMap((item: unknown) => stringField(item, "content") ?? [])
    return `The list has ${count(items.length, "item")}:\n\n${bullets(items)}`
  },
  clarify: ({ result: { fields } }) => {
    const answer = stringField(fields, "user_response")
    return answer === undefined ? undefined : `You answered: ${ellipsize(oneLine(answer), MAX_LINE)}`
  },
}

function reportFiles(files: readonly unknown[], fields: Readonly<Record<string, unknown>>): string {
  const names = files.flatMap((file) => (typeof file === "string" ? [file] : (stringField(file, "path") ?? [])))
  const total = Math.max(numberField(fields, "total_count") ?? 0, names.length)
  return total === 0 ? "I found no files." : `I found ${count(total, "file")}:\n\n${bullets(names, total)}`
}

function reportMatches(pattern: string, fields: Readonly<Record<string, unknown>>): string | undefined {
  const matches = Array.isArray(fields["matches"]) ? fields["matches"].filter(isRecord) : []
  const total = Math.max(numberField(fields, "total_count") ?? 0, matches.length)
  if (total === 0) return `I found no match for "${pattern}".`
  const lines = matches.map(
    (match) =>
      `${stringField(match, "path") ?? "?"}:${String(match["line"])}: ${(stringField(match, "content") ?? "").trim()}`,
  )
  const files = new Set(matches.map((match) => match["path"])).size
  return `I found ${total === 1 ? "1 match" : `${total} matches`} for "${pattern}" in ${count(files, "file")}:\n\n${bullets(lines, total)}`
}

function isDenied({ result: { fields } }: CompletedCall): boolean {
  return fields["status"] === "blocked"
}

function hasError(fields: Readonly<Record<string, unknown>>): boolean {
  const { error } = fields
  return (typeof error === "string" && error !== "") || fields["success"] === false
}

function because(fields: Readonly<Record<string, unknown>>): string {
  const error = stringField(fields, "error") ?? ""
  return error === "" ? "." : `: ${ellipsize(oneLine(error), MAX_LINE)}`
}

function nameOf(call: CompletedCall): string {
  const subject = ["command", "path", "pattern"].flatMap((key) => stringField(call.args, key) ?? [])[0]
  return subject === undefined ? `The call of ${call.tool}` : `${call.tool} (${ellipsize(subject, 80)})`
}

function bullets(items: readonly string[], total = items.length): string {
  const shown = items.slice(0, MAX_NAMES).map((item) => `- ${ellipsize(oneLine(item), MAX_LINE)}`)
  return [...shown, ...remainderNote(total - shown.length)].join("\n")
}

function block(lines: readonly string[], total = lines.length): string {
  const shown = lines.slice(0, MAX_LINES).map((line) => ellipsize(line, MAX_LINE))
  return ["```", ...shown, "```", ...remainderNote(total - shown.length)].join("\n")
}

function remainderNote(more: number): readonly string[] {
  return more > 0 ? [`… and ${more} more.`] : []
}

function count(amount: number, noun: string): string {
  return amount === 1 ? `1 ${noun}` : `${amount} ${noun}s`
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : []
}

function numberField(fields: Readonly<Record<string, unknown>>, key: string): number | undefined {
  const value = fields[key]
  return typeof value === "number" ? value : undefined
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim()
}

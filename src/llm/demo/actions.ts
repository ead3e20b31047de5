import { isRecord, stringField } from "../../base/json.ts"
import { quoteForShell } from "../../base/quote-for-shell.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { ellipsize } from "../../base/text.ts"
import type { CompletedCall } from "./conversation.ts"
import type { Step, ToolOption } from "./plan.ts"
import { plainLines } from "./tool-report.ts"

export const NOTE_PATH = "hermes-demo-note.txt"

export function listFiles(path: string | undefined): Step {
  const where = path ?? "."
  return {
    toolOptions: [
      { tool: "search_files", args: { pattern: "*", target: "files", path: where } },
      { tool: "terminal", args: { command: `ls -- ${shellQuoted(where)}` } },
    ],
    say: path === undefined ? "I will list the files here." : `I will list the files in ${path}.`,
    title: "listing files",
  }
}

export function findFiles(name: string): Step {
  return {
    toolOptions: [{ tool: "search_files", args: { pattern: name, target: "files", path: "." } }],
    say: `I will look for files named ${name}.`,
    title: `looking for ${name}`,
  }
}

export function searchText(text: string, path: string | undefined): Step {
  // The tool expects a regular expression; escape the user's literal text.
  const pattern = text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
  return {
    toolOptions: [{ tool: "search_files", args: { pattern, target: "content", path: path ?? "." } }],
    say: `I will search ${path ?? "this folder"} for "${ellipsize(text, 80)}".`,
    title: `searching for "${ellipsize(text, 80)}"`,
  }
}

export function readPath(path: string): Step {
  return {
    toolOptions: [{ tool: "read_file", args: { path } }],
    say: `I will read ${path}.`,
    title: `reading ${path}`,
  }
}

export function writePath(path: string, text: string): Step {
  return {
    toolOptions: [{ tool: "write_file", args: { path, content: `${text}\n` } }],
    say: `I will write ${path}.`,
    title: `writing ${path}`,
  }
}

/** One step with `patch`; without that tool, reads and rewrites the file. */
export function replaceInPath(
  change: { readonly path: string; readonly from: string; readonly to: string },
  tools: ReadonlySet<string>,
): readonly Step[] {
  const { path, from, to } = change
  const say = `I will replace "${ellipsize(from, 60)}" with "${ellipsize(to, 60)}" in ${path}.`
  const title = `changing ${path}`
  if (tools.has("patch")) {
    const args = { mode: "replace", path, old_string: from, new_string: to }
    return [{ toolOptions: [{ tool: "patch", args }], say, title }]
  }
  const rewrite: ToolOption["args"] = (completed) => {
    const before = readText(path, completed)
    if (!before.ok) return before
    if (!before.value.includes(from))
      return fail(`"${ellipsize(from, 80)}" does not occur in ${path}, so I changed nothing.`)
    return ok({ path, content: before.value.replace(from, () => to) })
  }
  return [readPath(path), { toolOptions: [{ tool: "write_file", args: rewrite }], say, title }]
}

export function appendToPath(path: string, text: string): readonly Step[] {
  const extend: ToolOption["args"] = (completed) => {
    const before = readText(path, completed)
    return before.ok ? ok({ path, content: `${before.value}${text}\n` }) : before
  }
  const say = `I will add a line to ${path}.`
  return [readPath(path), { toolOptions: [{ tool: "write_file", args: extend }], say, title: `changing ${path}` }]
}

export function runCommand(command: string): Step {
  return {
    toolOptions: [{ tool: "terminal", args: { command } }],
    say: `I will run \`${ellipsize(command, 120)}\`.`,
    title: `running \`${ellipsize(command, 120)}\``,
  }
}

/** Uses `rm -r` even for one file, because the demo should show the permission question where commands run without the sandbox. */
export function deletePath(path: string): Step {
  return {
    toolOptions: [{ tool: "terminal", args: { command: `rm -r -- ${shellQuoted(path)}` } }],
    say: `I will delete ${path}. Without the sandbox, Hermes asks you first.`,
    title: `deleting ${path}`,
  }
}

export function remember(text: string): Step {
  return {
    toolOptions: [{ tool: "memory", args: { action: "add", target: "memory", content: text } }],
    say: "I will note that in memory.",
    title: "saving to memory",
  }
}

export function recall(): Step {
  return {
    toolOptions: [{ tool: "memory", args: { action: "read", target: "memory" } }],
    say: "I will look into memory.",
    title: "reading memory",
  }
}

export function makeTodoList(items: readonly string[]): Step {
  const todos = items.map((content, index) => ({ id: String(index + 1), content, status: "pending" }))
  return {
    toolOptions: [{ tool: "todo", args: { todos } }],
    say: "I will make that list.",
    title: "making a to-do list",
  }
}

export function askUser(): Step {
  const args = {
    question: "What would you like to see next?",
    choices: ["The files in this folder", "A note that is written and read back", "The whole tour"],
  }
  return { toolOptions: [{ tool: "clarify", args }], say: "Here is a question for you.", title: "asking you something" }
}

/**
 * The text of a file from the preceding read. Fails when the read was truncated or masked secrets, because writing that
 * back would destroy content.
 */
function readText(path: string, completed: readonly CompletedCall[]): Result<string> {
  const fields = completed.at(-1)?.result.fields
  const content = stringField(fields, "content")
  if (content === undefined || !isRecord(fields)) return fail(`I could not read ${path}, so I changed nothing.`)
  const lines = content === "" ? [] : plainLines(content)
  const total = fields["total_lines"]
  if (typeof total === "number" && total > lines.length) {
    return fail(`${path} is too long for the demo to change: I saw ${lines.length} of ${total} lines.`)
  }
  if (lines.some((line) => /\.\.\. \[truncated\]$|\*\*\*|\[redacted|\w{4}\.\.\.\w{4}/i.test(line))) {
    return fail(`Parts of ${path} were masked or truncated, so I changed nothing.`)
  }
  return ok(lines.map((line) => `${line}\n`).join(""))
}

function shellQuoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : quoteForShell(text)
}

import { basename, relative, sep } from "node:path"

import { explainSystemError } from "../base/system-error.ts"
import { codePointLength } from "../base/text.ts"
import { invisibleLine, scanThreats, withoutByteOrderMark } from "./threat-scan.ts"

/** The file system of a workspace. */
export interface ContextFileSystem {
  stat(path: string): Promise<{ readonly kind: "file" | "directory" | "other"; readonly size: number } | undefined>
  read(path: string): Promise<Uint8Array>
  list(path: string): Promise<readonly { readonly name: string; readonly kind: string }[]>
  realPath(path: string): Promise<string>
}

/** A file of rules for the model. The text of a file that looks like prompt injection is replaced by a notice. */
export interface ContextFile {
  /** Path relative to the working directory. */
  readonly name: string
  readonly text: string
  readonly blocked?: readonly string[]
}

export interface ReadOptions {
  readonly files: ContextFileSystem
  readonly name: string
  /** The real path must be in this directory, because a symbolic link in a repository could point to secrets. */
  readonly within: string
  readonly maxChars: number
}

/** Hermes' own rule files, by priority. They may start with front matter for other programs. */
export const HERMES_FILES: readonly string[] = [".hermes.md", "HERMES.md"]

/** `warning`: whether the reason is for the user or only for the log. */
export type ContextFileResult =
  | { readonly kind: "none" }
  | { readonly kind: "skipped"; readonly reason: string; readonly warning: boolean }
  | { readonly kind: "found"; readonly file: ContextFile; readonly warning?: string }

/** Never throws: an unusable rules file must not prevent a session from starting. */
export async function readContextFile(path: string, options: ReadOptions): Promise<ContextFileResult> {
  const { name } = options
  try {
    const facts = await options.files.stat(path)
    if (facts === undefined) return { kind: "none" }
    const problem = await problemOf(path, facts, options)
    if (problem !== undefined) return { kind: "skipped", reason: `${name} was not read: ${problem}`, warning: true }
    return prepareContextText(new TextDecoder().decode(await options.files.read(path)), options)
  } catch (error) {
    return { kind: "skipped", reason: `${name} was not read: ${explainSystemError(error)}`, warning: false }
  }
}

/** A larger file is not a rules file. */
const MAX_BYTES = 1_000_000

async function problemOf(
  path: string,
  facts: { readonly kind: string; readonly size: number },
  { files, within }: ReadOptions,
): Promise<string | undefined> {
  if (facts.kind !== "file") return "it is not a regular file"
  if (facts.size > MAX_BYTES) return "it is larger than 1 MB"
  const target = relative(await files.realPath(within), await files.realPath(path))
  return target === ".." || target.startsWith(`..${sep}`) ? "it is a link to a file outside the project" : undefined
}

/** Prepares the content of a rules file for the prompt: scans it for threats, removes front matter and truncates it. */
export function prepareContextText(
  content: string,
  options: { readonly name: string; readonly maxChars: number },
): ContextFileResult {
  const { name } = options
  if (content.includes("\0")) return { kind: "skipped", reason: `${name} was not read: it is not text`, warning: true }
  const whole = withoutByteOrderMark(content).trim()
  const text = HERMES_FILES.includes(basename(name)) ? withoutFrontMatter(whole) : whole
  if (text === "") return { kind: "none" }
  const threats = scanThreats(text, "context")
  if (threats.length > 0) {
    const ids = threats.join(", ")
    return {
      kind: "found",
      file: {
        name,
        text: blockedNotice(name, { threats, remedy: "the user was warned" }),
        blocked: threats,
      },
      warning: `${name} was left out of the prompt because it looks like prompt injection (${ids}). ${advice(content)}`,
    }
  }
  return truncated(text, options)
}

function advice(content: string): string {
  const line = invisibleLine(withoutByteOrderMark(content))
  return line === undefined ? "Check the file." : `Check line ${line}: it has characters that editors do not show.`
}

/** The text that the model sees instead of a blocked file. */
export function blockedNotice(
  name: string,
  { threats, remedy }: { readonly threats: readonly string[]; readonly remedy: string },
): string {
  return `[BLOCKED: ${name} contained potential prompt injection (${threats.join(", ")}). Its text was left out; ${remedy}.]`
}

/** Removes a leading block between two lines of `---`, unless the file contains nothing else. */
function withoutFrontMatter(text: string): string {
  const closing = /^---[^\S\n]*\n/u.test(text) ? /\n---[^\S\n]*(?=\n|$)/u.exec(text) : null
  const body = closing === null ? "" : text.slice(closing.index + closing[0].length).trim()
  return body === "" ? text : body
}

function truncated(
  text: string,
  { name, maxChars }: { readonly name: string; readonly maxChars: number },
): ContextFileResult {
  const total = codePointLength(text)
  if (total <= maxChars) return { kind: "found", file: { name, text } }
  const characters = Array.from(text)
  const head = Math.floor((maxChars * 7) / 10)
  const tail = Math.floor((maxChars * 2) / 10)
  const marker = `[${name} is truncated here: its first ${head} and last ${tail} of ${total} characters are shown. Read the rest with the file tools.]`
  return {
    kind: "found",
    file: {
      name,
      text: `${characters.slice(0, head).join("")}\n\n${marker}\n\n${characters.slice(total - tail).join("")}`,
    },
    warning: `${name} has ${total} characters, more than ${maxChars}: the model sees its first ${head} and last ${tail}. Shorten it or raise context_file_max_chars.`,
  }
}

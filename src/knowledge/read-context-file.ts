import { basename, relative, sep } from "node:path"

import { explainSystemError } from "../base/system-error.ts"
import { codePointLength } from "../base/text.ts"
import { scanThreats, withoutByteOrderMark } from "./threat-scan.ts"

/** The files of the place where the session works; a workspace's `files` fit. */
export interface ContextFileSystem {
  stat(path: string): Promise<{ readonly kind: "file" | "directory" | "other"; readonly size: number } | undefined>
  read(path: string): Promise<Uint8Array>
  list(path: string): Promise<readonly { readonly name: string; readonly kind: string }[]>
  realPath(path: string): Promise<string>
}

/** A file of rules for the model. One that looks like an attack carries a line that says so instead of its text. */
export interface ContextFile {
  /** Relative to the directory it was looked up from. */
  readonly name: string
  readonly text: string
  readonly blocked?: readonly string[]
}

export interface ReadOptions {
  readonly files: ContextFileSystem
  readonly name: string
  /** The file must really lie in here: a link in a foreign repository could point at somebody's secrets. */
  readonly within: string
  readonly maxChars: number
}

/** Hermes' own kind, best first: it may open with front matter for other programs. */
export const OWN_FILES: readonly string[] = [".hermes.md", "HERMES.md"]

/** `skipped` is for a log, `warning` for the person. */
export type ReadContextFile =
  | { readonly kind: "none" }
  | { readonly kind: "skipped"; readonly reason: string; readonly warning: boolean }
  | { readonly kind: "found"; readonly file: ContextFile; readonly warning?: string }

/** Never throws: a rules file that cannot be used must not keep a session from starting. */
export async function readContextFile(path: string, options: ReadOptions): Promise<ReadContextFile> {
  const { name } = options
  try {
    const facts = await options.files.stat(path)
    if (facts === undefined) return { kind: "none" }
    const problem = await problemOf(path, facts, options)
    if (problem !== undefined) return { kind: "skipped", reason: `${name} was not read: ${problem}`, warning: true }
    return usableText(new TextDecoder().decode(await options.files.read(path)), options)
  } catch (error) {
    return { kind: "skipped", reason: `${name} was not read: ${explainSystemError(error)}`, warning: false }
  }
}

/** Rules are read by people; whatever is larger was put there by mistake. */
const MAX_BYTES = 1_000_000

async function problemOf(
  path: string,
  facts: { readonly kind: string; readonly size: number },
  { files, within }: ReadOptions,
): Promise<string | undefined> {
  if (facts.kind !== "file") return "it is not a regular file"
  if (facts.size > MAX_BYTES) return "it is larger than 1 MB"
  const place = relative(await files.realPath(within), await files.realPath(path))
  return place === ".." || place.startsWith(`..${sep}`) ? "it is a link to a file outside the project" : undefined
}

/** What of a rules file may go into a prompt: scanned, without what its author did not mean for the model, within the limit. */
export function usableText(
  content: string,
  options: { readonly name: string; readonly maxChars: number },
): ReadContextFile {
  const { name } = options
  if (content.includes("\0")) return { kind: "skipped", reason: `${name} was not read: it is not text`, warning: true }
  const whole = withoutByteOrderMark(content).trim()
  const text = OWN_FILES.includes(basename(name)) ? withoutFrontMatter(whole) : whole
  if (text === "") return { kind: "none" }
  const threats = scanThreats(text, "context")
  if (threats.length > 0) {
    const ids = threats.join(", ")
    return {
      kind: "found",
      file: {
        name,
        text: blockedText(name, { threats, remedy: "the person has been told" }),
        blocked: threats,
      },
      warning: `${name} was left out of the prompt because it looks like prompt injection (${ids}). Check the file.`,
    }
  }
  return shortened(text, options)
}

/** What the model reads in place of a poisoned file, and what was or has to be done about it. */
export function blockedText(
  name: string,
  { threats, remedy }: { readonly threats: readonly string[]; readonly remedy: string },
): string {
  return `[BLOCKED: ${name} contained potential prompt injection (${threats.join(", ")}). Its text was left out; ${remedy}.]`
}

/** The body of a file that opens with a block between two lines of `---`; a file that is nothing else is kept as it is. */
function withoutFrontMatter(text: string): string {
  const closing = /^---[^\S\n]*\n/u.test(text) ? /\n---[^\S\n]*(?=\n|$)/u.exec(text) : null
  const body = closing === null ? "" : text.slice(closing.index + closing[0].length).trim()
  return body === "" ? text : body
}

function shortened(
  text: string,
  { name, maxChars }: { readonly name: string; readonly maxChars: number },
): ReadContextFile {
  const total = codePointLength(text)
  if (total <= maxChars) return { kind: "found", file: { name, text } }
  const characters = Array.from(text)
  const head = Math.floor((maxChars * 7) / 10)
  const tail = Math.floor((maxChars * 2) / 10)
  const marker = `[${name} is shortened here: its first ${head} and last ${tail} of ${total} characters are shown. Read the rest with the file tools.]`
  return {
    kind: "found",
    file: {
      name,
      text: `${characters.slice(0, head).join("")}\n\n${marker}\n\n${characters.slice(total - tail).join("")}`,
    },
    warning: `${name} has ${total} characters, more than ${maxChars}: the model sees its first ${head} and last ${tail}. Shorten it or raise context_file_max_chars.`,
  }
}

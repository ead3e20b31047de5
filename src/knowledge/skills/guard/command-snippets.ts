/** A command line, or several, in a file of a skill. */
export interface CommandSnippet {
  /** The line of the file where it begins; counts from 1. */
  readonly line: number
  readonly text: string
}

export interface FoundSnippets {
  /** In the order of the file: a later one may run what an earlier one wrote. */
  readonly snippets: readonly CommandSnippet[]
  /** False where the file has more commands than are judged. */
  readonly isComplete: boolean
}

const MAX_SNIPPETS = 1000
const MAX_TOTAL_CHARS = 200_000
const MAX_SNIPPET_CHARS = 40_000
const MAX_LINE_CHARS = 2000

/**
 * Finds what a model or a user could run: shell scripts, code blocks, text in backticks or quotes, and lines of prose that contain a
 * command. Too much is better than too little: a sentence runs no known program, so judging it finds nothing.
 */
export function findSnippets(text: string, extension: string): FoundSnippets {
  const found = snippetsOf(text.replaceAll("\r\n", "\n").split("\n"), extension)
  const snippets: CommandSnippet[] = []
  let chars = 0
  for (const snippet of found) {
    chars += snippet.text.length
    if (snippets.length >= MAX_SNIPPETS || chars > MAX_TOTAL_CHARS || snippet.text.length > MAX_SNIPPET_CHARS)
      return { snippets, isComplete: false }
    snippets.push(snippet)
  }
  return { snippets, isComplete: true }
}

const SHELL_EXTENSIONS = new Set(["sh", "bash", "zsh", "ksh"])
/** Files of sentences. In others, a line by itself is not a command line. */
const PROSE_EXTENSIONS = new Set(["", "md", "txt", "html", "tex"])
const SHELL_LANGUAGES = new Set(
  " sh bash shell zsh ksh console terminal shellsession shell-session shell-script text txt".split(" "),
)
const SHELL_LINE = /^#!.{0,60}\b(?:ba|z|k|da)?sh\b/u
const FENCE = /^[\s>]{0,40}(`{3,20}|~{3,20})[ \t]{0,10}\{?\.?([\w+.-]{0,30})/u

function* snippetsOf(lines: readonly string[], extension: string): Generator<CommandSnippet> {
  if (SHELL_EXTENSIONS.has(extension) || SHELL_LINE.test(lines[0] ?? "")) {
    yield { line: 1, text: lines.join("\n") }
    return
  }
  const isProse = PROSE_EXTENSIONS.has(extension)
  let block: Block | undefined
  for (const [index, line] of lines.entries()) {
    const [, fence = "", language = ""] = isProse ? (FENCE.exec(line) ?? []) : []
    if (block !== undefined && fence.startsWith(block.fence) && language === "") {
      if (block.isShell) yield { line: block.start, text: block.lines.join("\n") }
      block = undefined
    } else if (block === undefined && fence !== "")
      block = { fence, isShell: SHELL_LANGUAGES.has(language.toLowerCase()), start: index + 2, lines: [] }
    else if (block?.isShell === true) block.lines.push(line.replace(PROMPT, ""))
    else
      for (const text of commandsInLine(line, { isProse: isProse && block === undefined }))
        yield { line: index + 1, text }
  }
  if (block?.isShell === true) yield { line: block.start, text: block.lines.join("\n") }
}

interface Block {
  readonly fence: string
  readonly isShell: boolean
  readonly start: number
  readonly lines: string[]
}

/** The prompt in front of a command of a recorded session. */
const PROMPT = /^\s{0,20}[$%]\s/u
const QUOTED = /`([^`\n]{3,2000})`|"([^"\n]{6,2000})"|'([^'\n]{6,2000})'/gu
const LIST_MARKER = /^\s{0,40}(?:(?:[-*+>$%]|\d{1,3}[.)])\s{1,10}){0,3}/u
/** What a command has and a sentence seldom. */
const SHELL_SYNTAX = /[|;<>]|&&|\$\(|https?:\/\/|\s--?\w|~\//u
/** Runs a file that an earlier line may have fetched. */
const RUNS_FILE = /^(?:sudo\s)?(?:(?:ba|z|da)?sh|python3?|node|source|\.)\s\S{1,200}$|^\.{0,2}\/\S{1,200}$/u
const PROGRAM =
  /(?:^|\s)((?:curl|wget|tar|zip|cat|cp|scp|rsync|sftp|ncat|netcat|nc|socat|base64|xxd|openssl|gpg|eval|bash|sh|zsh|python3?|perl|ruby|env|printenv|crontab|echo|printf|tee|gh|aws|git)\s.*)/u

function commandsInLine(whole: string, { isProse }: { readonly isProse: boolean }): ReadonlySet<string> {
  const line = whole.slice(0, MAX_LINE_CHARS)
  const found = new Set<string>()
  const bare = line.replace(LIST_MARKER, "").trimEnd()
  const isCommand = SHELL_SYNTAX.test(bare) || RUNS_FILE.test(bare)
  if (isProse && isCommand && /^[a-z./~$({]/u.test(bare)) found.add(bare)
  const [, fromProgram] = PROGRAM.exec(bare) ?? []
  if (fromProgram !== undefined && SHELL_SYNTAX.test(fromProgram)) found.add(fromProgram.replace(/[.,:)]{1,3}$/u, ""))
  for (const [, ...spans] of line.matchAll(QUOTED)) {
    const span = spans.find((one) => one !== undefined)?.trim() ?? ""
    if (/\s|[|;]/u.test(span) || RUNS_FILE.test(span)) found.add(span)
  }
  return found
}

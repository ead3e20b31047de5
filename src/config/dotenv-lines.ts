import { KNOWN_DOTENV_NAMES } from "./secrets.ts"

/** One line of a `.env` file; lines without an assignment are kept unchanged. */
export type DotenvLine =
  | { readonly kind: "other"; readonly text: string; readonly line: number }
  | {
      readonly kind: "assignment"
      readonly text: string
      readonly line: number
      readonly name: string
      readonly value: string
    }

/** Keeps all lines, removes NUL bytes, and splits lines in which known assignments were joined. */
export function parseDotenv(bytes: Uint8Array): readonly DotenvLine[] {
  const text = new TextDecoder("utf-8").decode(bytes).replaceAll("\0", "")
  const lines = text.split(/\r\n|\n|\r/)
  if (lines.at(-1) === "") lines.pop()
  return lines.flatMap((line, index) => splitJoined(line).map((part) => parseLine(part, index + 1)))
}

export function renderDotenv(lines: readonly DotenvLine[]): string {
  return lines.map((line) => `${line.text}\n`).join("")
}

export function assignment(name: string, value: string): DotenvLine {
  return { kind: "assignment", text: `${name}=${quote(value)}`, line: 0, name, value }
}

/** Variables that decide which programs or libraries run, or where the home is: never stored by a command. */
export function isDeniedForWriting(name: string): boolean {
  return DENIED_FOR_WRITING.includes(name) || isDeniedForReading(name)
}

/** Variables that are ignored in `.env`, even when the user wrote them by hand. */
export function isDeniedForReading(name: string): boolean {
  return LOCATION.includes(name) || name === "NODE_OPTIONS" || /^(?:LD|DYLD)_[A-Z_]+$/.test(name)
}

export function isVariableName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)
}

/** Keys are sent in HTTP headers, which are ASCII, so this removes other characters that copying may have added. */
export function cleanValue(name: string, value: string): { readonly value: string; readonly warning?: string } {
  const single = value.replaceAll(/[\r\n]/g, "")
  if (!/(?:_API_KEY|_TOKEN|_SECRET|_KEY)$/.test(name)) return { value: single }
  const foreign = single.match(/\P{ASCII}/gu) ?? []
  if (foreign.length === 0) return { value: single }
  const points = [...new Set(foreign)].slice(0, 3).map((character) => `U+${hex(character)}`)
  const cleaned = single.replaceAll(/\P{ASCII}/gu, "")
  return {
    value: cleaned,
    warning: `${name} contained characters that are not allowed in a key (${points.join(", ")}); they were removed`,
  }
}

const LOCATION: readonly string[] = ["HERMES_HOME", "HERMES_PROFILE", "HERMES_CONFIG", "HERMES_ENV"]
const DENIED_FOR_WRITING: readonly string[] = [
  ..."PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONUSERBASE PYTHONEXECUTABLE PYTHONNOUSERSITE".split(" "),
  ..."NODE_PATH PATH SHELL BROWSER EDITOR VISUAL PAGER GIT_SSH_COMMAND GIT_EXEC_PATH GIT_SHELL".split(" "),
]

function hex(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")
}

function parseLine(text: string, line: number): DotenvLine {
  const [, name, rest] = /^\s*(?:export\s+)?([^=\s#][^=]*?)\s*=(.*)$/s.exec(text) ?? []
  if (name === undefined || rest === undefined || !isVariableName(name)) return { kind: "other", text, line }
  return { kind: "assignment", text, line, name, value: unquote(rest.trim()) }
}

function unquote(value: string): string {
  const first = value[0]
  const quoted = value.length >= 2 && (first === '"' || first === "'") && value.endsWith(first)
  return quoted ? value.slice(1, -1) : value
}

/** Quotes only values that would otherwise be read back changed, here or by the Python edition. */
function quote(value: string): string {
  if (!/[\s#'"\\$`]/.test(value)) return value
  if (unquote(value.trim()) === value && !/\s#|^#|^['"]/.test(value)) return value
  return value.includes("'") ? `"${value}"` : `'${value}'`
}

/** Splits assignments that a lost newline has joined; only known names are recognised. */
function splitJoined(line: string): readonly string[] {
  if (line.trimStart().startsWith("#")) return [line]
  const found = KNOWN_DOTENV_NAMES.flatMap((name) => starts(line, name))
  const outer = found.filter((one) => !found.some((other) => other !== one && covers(other, one)))
  if (outer.length < 2) return [line]
  const cuts = outer
    .map((one) => one.start)
    .toSorted((a, b) => a - b)
    .slice(1)
  return [0, ...cuts].map((start, index) => line.slice(start, cuts[index]))
}

interface Span {
  readonly start: number
  readonly end: number
}

function starts(line: string, name: string): Span[] {
  const spans: Span[] = []
  const needle = `${name}=`
  for (let start = line.indexOf(needle); start !== -1; start = line.indexOf(needle, start + 1)) {
    spans.push({ start, end: start + needle.length })
  }
  return spans
}

/** `LM_API_KEY=` inside `GLM_API_KEY=` does not start an assignment. */
function covers(outer: Span, inner: Span): boolean {
  return outer.start <= inner.start && outer.end >= inner.end && outer.end - outer.start > inner.end - inner.start
}

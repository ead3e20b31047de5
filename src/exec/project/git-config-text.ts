/** One setting in a configuration file of git. */
export interface GitSetting {
  /** In lower case. */
  readonly section: string
  /** The name in quotes, such as that of a remote. */
  readonly subsection: string | undefined
  /** In lower case. */
  readonly name: string
  readonly value: string
  /** Where it begins and ends in the text, without its section. */
  readonly start: number
  readonly end: number
}

/**
 * Reads the settings as git does, also those that continue on the next line or share a line with their section. Undefined when git would
 * refuse the file.
 */
export function parseGitConfig(text: string): readonly GitSetting[] | undefined {
  const settings: GitSetting[] = []
  let section: Pick<GitSetting, "section" | "subsection"> | undefined
  let at = text.startsWith("\uFEFF") ? 1 : 0
  while (at < text.length) {
    // One after the other: a pattern for any number of them needs more memory than there is.
    const skipped = matchAt(/[ \t\r\n]+|[#;][^\n]*/uy, text, at)
    if (skipped !== undefined) {
      at += skipped[0].length
      continue
    }
    if (text[at] === "[") {
      const header = matchAt(/\[([a-z0-9.-]+)(?:[ \t\r]+"((?:[^"\\\n]|\\[^\n])*)")?\]/iuy, text, at)
      if (header === undefined) return undefined
      section = sectionOf(header[1] ?? "", header[2])
      at += header[0].length
      continue
    }
    const key = matchAt(/([a-z][a-z0-9-]*)[ \t]*/iuy, text, at)
    if (key === undefined) return undefined
    const afterKey = at + key[0].length
    const read = readValue(text, afterKey)
    if (read === undefined) return undefined
    // Without a section, a name has no meaning.
    if (section !== undefined)
      settings.push({ ...section, name: (key[1] ?? "").toLowerCase(), value: read.value, start: at, end: read.end })
    at = read.end
  }
  return settings
}

/** The full name, for example `remote.origin.url`. */
export function settingKey({ section, subsection, name }: Omit<GitSetting, "value" | "start" | "end">): string {
  return [section, ...(subsection === undefined ? [] : [subsection]), name].join(".")
}

/** A setting with its section, as text that git reads. */
export function settingText({ section, subsection, name, value }: Omit<GitSetting, "start" | "end">): string {
  const header = subsection === undefined ? `[${section}]` : `[${section} ${quoted(subsection, /["\\]/gu)}]`
  const escaped = quoted(value, /["\\]/gu)
    .replaceAll("\n", String.raw`\n`)
    .replaceAll("\t", String.raw`\t`)
  return `${header}\n\t${name} = ${escaped}\n`
}

function quoted(text: string, special: RegExp): string {
  return `"${text.replaceAll(special, String.raw`\$&`)}"`
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  const sticky = new RegExp(pattern.source, pattern.flags)
  sticky.lastIndex = at
  return sticky.exec(text) ?? undefined
}

/** The old form `[remote.origin]` has a subsection without quotes, in lower case. */
function sectionOf(name: string, subsection: string | undefined): Pick<GitSetting, "section" | "subsection"> {
  const [section = "", ...unquoted] = name.toLowerCase().split(".")
  const parts = [...unquoted, ...(subsection === undefined ? [] : [subsection.replaceAll(/\\(.)/gu, "$1")])]
  return { section, subsection: parts.length === 0 ? undefined : parts.join(".") }
}

const ESCAPED: Readonly<Record<string, string>> = { n: "\n", t: "\t", b: "\b", "\\": "\\", '"': '"' }

/** Reads what follows a name, from `=` to the end of the line. A name alone is true. */
function readValue(text: string, start: number): { readonly value: string; readonly end: number } | undefined {
  if (isLineEnd(text, start)) return { value: "true", end: start }
  if (text[start] !== "=") return undefined
  let value = ""
  /** The length without spaces at the end. */
  let length = 0
  let isQuoted = false
  let at = start + 1
  for (; !isLineEnd(text, at); at += 1) {
    const char = text[at] ?? ""
    if (!isQuoted && /[#;]/u.test(char)) {
      while (at < text.length && text[at] !== "\n") at += 1
      break
    }
    if (char === '"') {
      isQuoted = !isQuoted
    } else if (char === "\\") {
      at += text[at + 1] === "\r" && text[at + 2] === "\n" ? 2 : 1
      const next = text[at] ?? ""
      if (next === "\n") continue
      const escaped = ESCAPED[next]
      if (escaped === undefined) return undefined
      value += escaped
    } else if (isQuoted || !/[ \t\r]/u.test(char)) {
      value += char
    } else {
      if (value !== "") value += char
      continue
    }
    length = value.length
  }
  return isQuoted ? undefined : { value: value.slice(0, length), end: at }
}

function isLineEnd(text: string, at: number): boolean {
  return at >= text.length || text[at] === "\n" || (text[at] === "\r" && text[at + 1] === "\n")
}

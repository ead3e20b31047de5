/** Lines up to an end mark that are shown as they are: code or a formula. */
export interface Fence {
  readonly info: string
  readonly indent: number
  readonly isEnd: (line: string) => boolean
  /** The first and the last line are part of what is shown. */
  readonly endLine?: true
}

const FENCE = /^( {0,3})(`{3,}|~{3,})([^`]*)$/u
export const PARTIAL_FENCE = /^ {0,3}(?:`{1,}[^`\s]*|~{2,}[^~\s]*)$/u

export function fenceStart(line: string): Fence | undefined {
  const [, indent = "", mark = "", info = ""] = FENCE.exec(line) ?? []
  if (mark !== "") {
    const end = new RegExp(`^ {0,3}${mark.charAt(0)}{${mark.length},}\\s*$`, "u")
    return { info: info.trim(), indent: indent.length, isEnd: (text) => end.test(text) }
  }
  const formula = FORMULAS.find(({ start, end }) => line.trimStart().startsWith(start) && !closes(line, start, end))
  if (formula === undefined) return undefined
  return {
    info: "",
    indent: 0,
    isEnd: (text) => text.trim() === "" || text.trimEnd().endsWith(formula.end),
    endLine: true,
  }
}

export function languageOf({ info }: Fence): string {
  return info.split(/\s/u, 1)[0] ?? ""
}

/** The fence inside a list item that has not ended in these lines. */
export function unclosedFence(lines: readonly string[]): Fence | undefined {
  let open: Fence | undefined
  for (const line of lines) {
    const [, indent = "", fence = ""] = /^( *)((?:`{3,}|~{3,}).*)$/u.exec(line) ?? []
    if (open?.isEnd(line.trimStart()) === true) open = undefined
    else if (open === undefined && fence !== "") {
      const start = fenceStart(fence)
      open =
        start === undefined
          ? undefined
          : { ...start, indent: indent.length, isEnd: (text) => start.isEnd(text.trimStart()) }
    }
  }
  return open
}

const FORMULAS = [
  { start: "$$", end: "$$" },
  { start: String.raw`\[`, end: String.raw`\]` },
]

function closes(line: string, start: string, end: string): boolean {
  return line.indexOf(end, line.indexOf(start) + start.length) !== -1
}

export function withoutIndent(line: string, indent: number): string {
  let spaces = 0
  while (spaces < indent && line.charAt(spaces) === " ") spaces += 1
  return line.slice(spaces)
}

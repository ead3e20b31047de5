import { parseYaml } from "../../config/document/yaml-document.ts"
import { withoutByteOrderMark } from "../threat-scan.ts"

/** A Markdown file with YAML fields between two `---` lines at its beginning. */
export interface FrontMatter {
  readonly fields: Readonly<Record<string, unknown>>
  readonly body: string
  /** Why the fields could not be read as YAML. They then hold what a line-by-line reading finds. */
  readonly problem?: string
}

/** Never fails: a text without front matter has no fields. */
export function readFrontMatter(text: string): FrontMatter {
  const lines = withoutByteOrderMark(text).replaceAll("\r\n", "\n").split("\n")
  if (lines[0]?.trimEnd() !== FENCE) return { fields: {}, body: lines.join("\n"), problem: "it has no front matter" }
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === FENCE)
  if (end === -1) {
    const header = headerLength(lines)
    return {
      fields: fieldsByLine(lines.slice(1, header)),
      body: lines.slice(header).join("\n").trim(),
      problem: "its front matter has no closing --- line",
    }
  }
  const header = lines.slice(1, end)
  const body = lines.slice(end + 1).join("\n")
  const yaml = header.join("\n")
  if (yaml.length > MAX_YAML_CHARS)
    return {
      fields: fieldsByLine(header),
      body,
      problem: `its front matter has ${yaml.length} characters, the limit is ${MAX_YAML_CHARS}; move text below it`,
    }
  const parsed = parseYaml(yaml)
  if (parsed.ok) return { fields: parsed.value.tree, body }
  const { message, line } = parsed.error
  // The first line of the file is the opening fence.
  const problem = `line ${line + 1} of its front matter is not valid YAML: ${message.split("\n", 1)[0] ?? ""}`
  return { fields: fieldsByLine(header), body, problem }
}

const FENCE = "---"
/** A project may contain many skills, and hostile YAML takes long to parse. */
const MAX_YAML_CHARS = 16_000
const FIELD = /^([A-Za-z][\w-]{0,63}):[ \t]*(.*)$/u

/** Without a closing line, the header ends where lines stop to look like fields. */
function headerLength(lines: readonly string[]): number {
  const end = lines.findIndex((line, index) => index > 0 && !FIELD.test(line) && !/^[ \t-]/u.test(line))
  return end === -1 ? lines.length : end
}

function fieldsByLine(lines: readonly string[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, key, value = ""] = FIELD.exec(line) ?? []
      const text = withoutQuotes(value.trim())
      return key === undefined || text === "" ? [] : [[key, text]]
    }),
  )
}

function withoutQuotes(text: string): string {
  return /^(["']).*\1$/u.test(text) && text.length > 1 ? text.slice(1, -1) : text
}

import { fail, ok, type Result } from "../../base/result.ts"
import { charCount } from "../../base/char-count.ts"
import { scanThreats } from "../threat-scan.ts"
import { readFrontMatter } from "./front-matter.ts"
import { MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS, SUPPORT_DIRECTORIES } from "./skill.ts"

const NAME = /^[a-z0-9][a-z0-9._-]*$/u
const MAX_CONTENT_CHARS = 100_000
const MAX_SUPPORT_BYTES = 1_048_576

/** A name or category that becomes a directory. */
export function checkName(what: "name" | "category", text: string): Result<undefined> {
  if (text.length > MAX_NAME_CHARS) return fail(`the ${what} is longer than ${MAX_NAME_CHARS} characters`)
  return NAME.test(text)
    ? ok(undefined)
    : fail(`the ${what} "${text.slice(0, 100)}" is not usable: use lower-case letters, digits, ".", "_" and "-"`)
}

export interface CheckedSkill {
  readonly name: string
  readonly description: string
}

/** Whether a text may become the SKILL.md of a skill of the given name. The error names what to change, and the line of a threat. */
export function checkSkillText(text: string, name: string): Result<CheckedSkill> {
  const chars = charCount(text)
  if (chars > MAX_CONTENT_CHARS)
    return fail(`the content has ${chars} characters, the limit is ${MAX_CONTENT_CHARS}; move parts to references/`)
  if (text.includes("\0")) return fail("the content is not text")
  const { fields, body, problem } = readFrontMatter(text)
  const shape = "begin with ---, name: and description: lines, and ---, then the instructions"
  if (problem !== undefined) return fail(`the content cannot be used: ${problem}; ${shape}`)
  const { name: declared, description } = fields
  if (typeof declared !== "string" || declared.trim() === "") return fail(`the front matter has no name; ${shape}`)
  if (declared.trim() !== name)
    return fail(`the front matter says name: ${declared}, but the skill is called ${name}; both must be the same`)
  if (typeof description !== "string" || description.trim() === "")
    return fail(`the front matter has no description; ${shape}`)
  if (charCount(description) > MAX_DESCRIPTION_CHARS)
    return fail(`the description is longer than ${MAX_DESCRIPTION_CHARS} characters; shorten it`)
  if (body.trim() === "") return fail("there are no instructions below the front matter")
  const inDescription = scanThreats(description, "strict")
  if (inDescription.length > 0)
    return fail(`the description was refused, because it looks like an attack (${inDescription.join(", ")})`)
  const threat = threatLine(text)
  if (threat !== undefined) return fail(threat)
  return ok({ name, description: description.trim() })
}

/** A file beside SKILL.md, in one of the four directories for them. */
export function checkSupportFile(path: string, content: string): Result<undefined> {
  const place = checkSupportPath(path)
  if (!place.ok) return place
  const bytes = Buffer.byteLength(content)
  if (bytes > MAX_SUPPORT_BYTES) return fail(`${path} has ${bytes} bytes, the limit is ${MAX_SUPPORT_BYTES}`)
  const threat = threatLine(content)
  return threat === undefined ? ok(undefined) : fail(`${path}: ${threat}`)
}

export function checkSupportPath(path: string): Result<undefined> {
  const parts = path.split("/")
  const isInSupport = SUPPORT_DIRECTORIES.some((name) => name === parts[0]) && parts.length > 1
  const isPlain = parts.every((part) => part !== "" && part !== "." && part !== ".." && !part.startsWith("."))
  if (isInSupport && isPlain && !path.includes("\0") && !path.includes("\\") && path.length <= 300) return ok(undefined)
  return fail(`"${path.slice(0, 100)}" is not a file of a skill: use a path below ${SUPPORT_DIRECTORIES.join("/, ")}/`)
}

/** The first line that looks like an injected instruction, as a sentence. */
function threatLine(text: string): string | undefined {
  const found = scanThreats(text, "context")
  if (found.length === 0) return undefined
  const lines = text.split("\n")
  const at = lines.findIndex((line) => scanThreats(line, "context").length > 0)
  const where = at === -1 ? "" : ` in line ${at + 1} ("${(lines[at] ?? "").trim().slice(0, 120)}")`
  return `the text was refused, because it looks like an attack (${found.join(", ")})${where}; a skill may not contain it`
}

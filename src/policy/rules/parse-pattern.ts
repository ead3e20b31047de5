import { nearest } from "../../base/nearest-name.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { ellipsize } from "../../base/text.ts"
import { compileGlob, compilePathGlob, matchesGlob } from "./glob.ts"
import { START_CHARS } from "./permission-rules.ts"
import type { RuleArgument, RulePattern } from "./permission-rules.ts"
import { CLASSES, TOOL_NAMES } from "./selectors.ts"
import type { SelectedCall } from "./selectors.ts"

const MAX_PATTERN_CHARS = 2000
const MAX_SHOWN_CHARS = 80
const CONTROL_CHARACTERS = /\p{Cc}/u

/** Parses `*`, `selector` or `selector:argument`. The error is a sentence that names the pattern. */
export function parsePattern(written: string): Result<RulePattern> {
  const text = written.trim()
  const bad = (why: string): Result<RulePattern> =>
    fail(`\`${ellipsize(text, MAX_SHOWN_CHARS)}\` is not a permission pattern: ${why}`)
  if (text === "") return fail("a permission pattern is empty")
  if (text.length > MAX_PATTERN_CHARS) return bad(`it is longer than ${MAX_PATTERN_CHARS} characters`)
  if (CONTROL_CHARACTERS.test(text)) return bad("it contains a line break or a control character")
  if (text === "*") return ok({ text, selects: () => true, argument: undefined })
  const spelled = withColons(text)
  const found = findSelector(spelled)
  if (found === undefined) {
    const [word = ""] = spelled.split(":")
    const similar = nearest(word, [...Object.keys(CLASSES), ...TOOL_NAMES])
    const hint = similar === undefined ? "" : `; did you mean \`${similar}\`?`
    return bad(`there is no tool or class \`${ellipsize(word, MAX_SHOWN_CHARS)}\`${hint}`)
  }
  const argument = spelled.slice(found.length + 1)
  if (spelled.length > found.length && argument.trim() === "") return bad("there is nothing after the colon")
  if (found.selector.startsWith("file") && argument.split("/").includes("..")) return bad("a path pattern has no `..`")
  const matchesAll = argument === "" || argument === "*" || (found.selector === "browser" && argument === "**")
  return ok({ text, selects: found.selects, argument: matchesAll ? undefined : parseArgument(argument) })
}

/** `terminal.*` and `file.write` are the dotted spelling of `terminal:*` and `file:write`. */
function withColons(text: string): string {
  const dot = text.indexOf(".")
  const head = text.slice(0, dot)
  if (dot <= 0 || head.includes(":") || selectorNamed(head) === undefined) return text
  return `${head}:${text.slice(dot + 1)}`
}

interface FoundSelector {
  readonly selector: string
  readonly length: number
  readonly selects: RulePattern["selects"]
}

/** Finds the longest known prefix of the parts between colons. */
function findSelector(text: string): FoundSelector | undefined {
  const [first = "", second] = text.split(":")
  if (second !== undefined) {
    const pair = `${first}:${second}`
    const ownerOf = Object.hasOwn(OWNERS, first) ? OWNERS[first] : undefined
    if (ownerOf !== undefined && second !== "" && second !== "*") {
      const wanted = compileGlob(second)
      return {
        selector: first,
        length: pair.length,
        selects: (call) => {
          const owner = ownerOf(call)
          return owner !== undefined && matchesGlob(wanted, owner)
        },
      }
    }
    const selects = Object.hasOwn(CLASSES, pair) ? CLASSES[pair] : undefined
    if (selects !== undefined) return { selector: pair, length: pair.length, selects }
  }
  const selects = selectorNamed(first)
  return selects === undefined ? undefined : { selector: first, length: first.length, selects }
}

/** `mcp:NAME` and `plugin:NAME` select the tools of one server or plugin. */
const OWNERS: Readonly<Record<string, (call: SelectedCall) => string | undefined>> = {
  mcp: (call) => call.server,
  plugin: (call) => call.plugin,
}

function selectorNamed(name: string): RulePattern["selects"] | undefined {
  if (Object.hasOwn(CLASSES, name)) return CLASSES[name]
  if (TOOL_NAMES.has(name) || MCP_TOOL.test(name)) return (call) => call.tool === name
  if (!TOOL_GLOB.test(name)) return undefined
  const glob = compileGlob(name)
  return (call) => matchesGlob(glob, call.tool)
}

/** A name with a wildcard, such as `browser_*`. A lone `*` before a colon would hide a forgotten selector. */
const TOOL_GLOB = /^(?=.*[*?[])(?=.*\w)[\w*?[\]!-]+$/u
const MCP_TOOL = /^mcp_[\w-]+$/u

function parseArgument(text: string): RuleArgument {
  const squeezed = text.trim().replaceAll(/\s+/gu, " ")
  const glob = compileGlob(squeezed)
  const bare = squeezed.endsWith(" *") ? compileGlob(squeezed.slice(0, -2)) : undefined
  const isFixed = Math.min(glob.prefix.length, bare?.prefix.length ?? START_CHARS) >= START_CHARS
  return {
    text: text.trim(),
    glob,
    bare,
    start: isFixed ? glob.prefix.slice(0, START_CHARS) : undefined,
    path: parsePath(text.trim()),
  }
}

function parsePath(text: string): RuleArgument["path"] {
  if (text.startsWith("/")) return { from: "root", glob: compilePathGlob(text) }
  if (text.startsWith("~/")) return { from: "userHome", glob: compilePathGlob(text.slice(2)) }
  return { from: "workspace", glob: compilePathGlob(text) }
}

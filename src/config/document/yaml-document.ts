import { isDeepStrictEqual } from "node:util"
import {
  parseDocument,
  Scalar,
  visit,
  type Document,
  type ScalarTag,
  type Tags,
  type ToStringOptions,
  type YAMLParseError,
} from "yaml"
import { isRecord } from "../../base/json.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import type { ConfigProblem } from "../config-problem.ts"
import type { Tree } from "./document-tree.ts"
import { duplicateKeys } from "./duplicate-keys.ts"
import { spliceChanges } from "./splice-changes.ts"

/** Where and why parsing failed. Lines and columns count from 1. */
export interface ParseFailure {
  readonly message: string
  readonly line: number
  readonly column: number
}

export interface ParsedYaml {
  readonly document: Document
  readonly tree: Tree
  readonly problems: readonly ConfigProblem[]
}

/** The only module that uses the YAML library, which is loaded lazily because it is slow to load. */
export function parseYaml(text: string): Result<ParsedYaml, ParseFailure> {
  const unprintable = findUnprintable(text)
  if (unprintable !== undefined) return fail(unprintable)
  const document = parseText(text)
  const [error] = document.errors
  if (error !== undefined) return fail(failureOf(error, text))
  const duplicates = duplicateKeys(document, text)
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: 100 }) ?? {}
  } catch {
    // The library throws for undefined aliases and for documents that expand to gigabytes.
    return fail({ message: "an alias (*name) is undefined or expands without end", line: 1, column: 1 })
  }
  if (containsItself(value))
    return fail({ message: "an alias (*name) refers to a value that contains it", line: 1, column: 1 })
  if (!isRecord(value))
    return fail({ message: "the file must be a mapping of settings (key: value)", line: 1, column: 1 })
  return ok({ document, tree: value, problems: duplicates })
}

/** YAML does not allow control characters, and the library accepts them: a damaged disk leaves zero bytes in a file. */
function findUnprintable(text: string): ParseFailure | undefined {
  const found = UNPRINTABLE.exec(text)
  if (found === null) return undefined
  const lines = text.slice(0, found.index).split("\n")
  const code = found[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")
  return {
    message: `the file contains the control character U+${code}`,
    line: lines.length,
    column: (lines.at(-1)?.length ?? 0) + 1,
  }
}

// oxlint-disable-next-line no-control-regex -- matches control characters on purpose
const UNPRINTABLE = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u0084\u0086-\u009F\uFFFE\uFFFF]/u

/** True when a list or mapping contains itself, which every walk over the tree would follow for ever. */
function containsItself(value: unknown, parents: readonly object[] = []): boolean {
  if (typeof value !== "object" || value === null) return false
  if (parents.includes(value)) return true
  return Object.values(value).some((child) => containsItself(child, [...parents, value]))
}

function parseText(text: string): Document.Parsed {
  return parseDocument(text, {
    version: "1.1",
    uniqueKeys: false,
    customTags: scalarRules,
    // Otherwise the library prints its own warnings in the terminal.
    logLevel: "error",
    // Otherwise it looks up the line of every error, in a time that grows with the square of the text.
    prettyErrors: false,
  })
}

/**
 * The edited document as text. What the edit did not touch stays byte for byte the same: the library would reformat spaces and move
 * comments, which would show up as unrelated changes under version control.
 */
export function renderYaml(document: Document, original: string): string {
  const style = styleOf(original)
  const rendered = document.toString(style)
  const unedited = parseYaml(original)
  if (!unedited.ok) return rendered
  const spliced = spliceChanges({
    text: original,
    original: unedited.value.document,
    edited: document,
    blank: () => parseText(""),
    style,
  })
  if (spliced !== undefined && sameMeaning(spliced, rendered)) return spliced
  const before = unedited.value.document.toString(style).split("\n")
  const after = rendered.split("\n")
  const written = original.split("\n")
  if (before.length !== written.length) return rendered
  const head = commonLines(before, after)
  const tail = commonLines(before.slice(head).toReversed(), after.slice(head).toReversed())
  const kept = [
    ...written.slice(0, head),
    ...after.slice(head, after.length - tail),
    ...written.slice(written.length - tail),
  ]
  const text = kept.join("\n")
  return sameMeaning(text, rendered) ? text : rendered
}

function commonLines(one: readonly string[], other: readonly string[]): number {
  const different = one.findIndex((line, index) => line !== other[index])
  return different === -1 ? Math.min(one.length, other.length) : different
}

function sameMeaning(one: string, other: string): boolean {
  const [first, second] = [parseYaml(one), parseYaml(other)]
  return first.ok && second.ok && isDeepStrictEqual(first.value.tree, second.value.tree)
}

function styleOf(text: string): ToStringOptions {
  const step = /^[^\s#-].*:[ \t]*\n( +)\S/m.exec(text)?.[1]?.length ?? 2
  return {
    lineWidth: 0,
    indent: Math.min(Math.max(step, 2), 8),
    indentSeq: !/^([ ]*)[^\s#-].*:[ \t]*\n\1- /m.test(text),
    flowCollectionPadding: !/(?:\{[^\s}]|\[[^\s\]])/.test(text),
  }
}

/** A node for a new value; quotes text that the Python edition's parser would read as a time or date. */
export function yamlNode(document: Document, value: unknown): unknown {
  const node = document.createNode(value)
  visit(node, {
    Scalar: (_key, scalar) => {
      if (typeof scalar.value === "string" && LOOKS_LIKE_TIME.test(scalar.value)) scalar.type = Scalar.QUOTE_DOUBLE
    },
  })
  return node
}

const LOOKS_LIKE_TIME = /^[-+]?\d+(:[0-5]?\d)+(\.\d*)?$|^\d{4}-\d\d?-\d\d?/

/**
 * YAML 1.1 as the Python edition's parser resolves it, without its traps: `yes no on off` are booleans (`y` and `n` are not),
 * `0700` is octal, but dates and `22:30` stay text, and there are no binary or set types. An integer too long for JavaScript
 * (chat platforms use such ids) stays text, so that no digit is lost.
 */
function scalarRules(tags: Tags): Tags {
  const kept = tags.filter((tag) => typeof tag === "string" || !REPLACED_TYPES.includes(tag.tag))
  return [...kept, ...BOOLEANS, ...NUMBERS]
}

const REPLACED_TYPES: readonly string[] = ["bool", "int", "float", "binary", "omap", "pairs", "set", "timestamp"].map(
  (name) => `tag:yaml.org,2002:${name}`,
)

const BOOLEANS = [
  booleanTag(true, /^(?:yes|Yes|YES|true|True|TRUE|on|On|ON)$/),
  booleanTag(false, /^(?:no|No|NO|false|False|FALSE|off|Off|OFF)$/),
]

const NUMBERS = [
  numberTag("int", /^[-+]?(?:0|[1-9][0-9_]{0,14})$/, (digits) => Number(digits)),
  numberTag("int", /^[-+]?0[0-7_]{1,16}$/, (digits) => signed(digits, 1, 8)),
  numberTag("int", /^[-+]?0x[0-9a-fA-F_]{1,13}$/, (digits) => signed(digits, 2, 16)),
  numberTag("int", /^[-+]?0b[01_]{1,52}$/, (digits) => signed(digits, 2, 2)),
  numberTag("float", /^(?:[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?)|[-+]?\.[0-9][0-9_]*)$/, (digits) =>
    Number(digits),
  ),
  numberTag("float", /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/, special),
]

function booleanTag(value: boolean, test: RegExp): ScalarTag {
  return {
    identify: (candidate) => candidate === value,
    default: true,
    tag: "tag:yaml.org,2002:bool",
    test,
    resolve: () => value,
    stringify: ({ source }) => (source !== undefined && test.test(source) ? source : String(value)),
  }
}

/** Renders a number as the user wrote it (`1_000`, `0x1F`). */
function numberTag(type: "int" | "float", test: RegExp, toNumber: (digits: string) => number): ScalarTag {
  return {
    identify: (value) => typeof value === "number" && Number.isInteger(value) === (type === "int"),
    default: true,
    tag: `tag:yaml.org,2002:${type}`,
    test,
    resolve: (text) => toNumber(text.replaceAll("_", "")),
    stringify: ({ source, value }) =>
      source ??
      String(value)
        .replace(/^(-?)Infinity$/, "$1.inf")
        .replace("NaN", ".nan"),
  }
}

function signed(digits: string, prefix: number, radix: number): number {
  const sign = digits.startsWith("-") ? -1 : 1
  return sign * Number.parseInt(digits.replace(/^[-+]/, "").slice(prefix), radix)
}

function special(word: string): number {
  if (/nan/i.test(word)) return Number.NaN
  return word.startsWith("-") ? -Infinity : Infinity
}

function failureOf({ code, pos: [start] }: YAMLParseError, text: string): ParseFailure {
  const lines = text.slice(0, start).split("\n")
  return {
    message: SENTENCES[code] ?? "this is not valid YAML",
    line: lines.length,
    column: (lines.at(-1)?.length ?? 0) + 1,
  }
}

/** The usual cause of each of the library's error codes. */
const SENTENCES: Partial<Record<YAMLParseError["code"], string>> = {
  BAD_ALIAS: "an alias (*name) is undefined",
  BAD_DIRECTIVE: "a line that starts with % is not a known directive",
  BAD_DQ_ESCAPE: "a backslash inside \"…\" is not a known escape; use '…' or double it",
  BAD_INDENT: "the indentation does not match the lines above, or a bracket is not closed",
  BAD_SCALAR_START: "a value starts with a character that needs quotes",
  BLOCK_AS_IMPLICIT_KEY: "a line has two `key:` parts; put the value in quotes",
  BLOCK_IN_FLOW: "an indented block is inside brackets",
  MISSING_CHAR: "a closing quote or bracket, or a space after `:`, is missing",
  MULTILINE_IMPLICIT_KEY: "a key runs over several lines; a `:` or a quote is probably missing",
  MULTIPLE_DOCS: "the file has more than one document (a line with ---)",
  TAB_AS_INDENT: "a tab is used for indentation; use spaces",
  UNEXPECTED_TOKEN: "unexpected text; look for a stray quote, bracket or colon",
}

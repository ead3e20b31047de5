import { join } from "node:path"

import { z } from "zod"

import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { codePointLength, takeCodePoints } from "../../base/text.ts"
import type { FileFacts } from "../../exec/workspace.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import { digestChars, digestValue } from "../../toolkit/digest-line.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"
import { binaryKind, isImage, looksBinary } from "./read/binary-file.ts"
import { extractDocument } from "./read/document/extract-document.ts"
import { maskPrivateKeys, MAX_KEY_LINES } from "./read/mask-private-keys.ts"
import { readImage } from "./read/read-image.ts"
import { refusedDevice } from "./paths/refused-path.ts"
import { checkRepetition } from "./tracking/repeated-call.ts"
import { outsideRootWarning, resolvedField } from "./paths/display-path.ts"
import { similarFiles } from "./paths/similar-names.ts"
import { fileChunks, readLineWindow } from "./read/line-window.ts"
import type { LineWindow } from "./read/line-window.ts"
import { UNCHANGED_NOTICE } from "./tracking/unchanged-notice.ts"

const DEFAULT_LIMIT = 500

/** Invalid numbers are replaced by the default, never refused. */
const line = (fallback: number) => z.int().default(fallback).catch(fallback)

export const readFile = defineTool({
  name: "read_file",
  claudeCode: { name: "Read", arguments: { path: "file_path" } },
  toolset: "file",
  inScripts: true,
  scripts: { returns: "content (lines as n|text), total_lines" },
  description:
    "Read a text file with numbered lines (`12|text`). Use this instead of cat, head or tail. Page with offset (first line, from 1) and " +
    "limit. Text of notebooks (.ipynb), .docx and .xlsx is extracted. For a missing file, similar names are returned. Images (PNG, JPEG, " +
    "GIF, WebP) are shown to you. Results that are too long are refused: use a smaller limit.",
  input: z.object({
    path: z.string().min(1).describe("File to read; relative paths start at the working directory"),
    offset: line(1).describe("First line, counted from 1"),
    limit: line(DEFAULT_LIMIT).describe("How many lines, at most 2000"),
  }),
  declarationRank: 2,
  lean: true,
  access: "read",
  subject: ({ path }) => ({ kind: "path", path }),
  label: { emoji: "📖", verb: "read" },
  preview: ({ path }) => path,
  parallel: "by-path",
  maxResultChars: "unlimited",
  idempotent: true,
  subjectsAreFiles: true,
  countsRepeats: true,
  provenance: "file",
  role: "file-reader",
  digest: ({ args, result }) =>
    `[read_file] read ${digestValue(args["path"])} from line ${digestValue(args["offset"]) || "1"} (${digestChars(result)} chars)`,
  run: async ({ path, offset, limit }, context) => {
    const { files } = context.workspace
    const target = files.resolve(path)
    try {
      const literal = refusedDevice(target)
      if (literal !== undefined) return failure(literal)
      const real = await files.realPath(target)
      const refused = refusedDevice(real)
      if (refused !== undefined) return failure(refused)
      const facts = await files.stat(target)
      if (facts === undefined) return failure(`file not found: ${target}`, await similarFiles(target, files))
      if (facts.kind === "directory")
        return failure(`${path} is a directory; list it with search_files and target "files"`)
      if (facts.kind === "other") return failure(`${path} is not a regular file`)
      const first = Math.max(1, offset)
      const count = Math.min(Math.max(1, limit), context.limits.maxLines)
      return await readPage({ given: path, target, real, facts, first, count }, context)
    } catch (error) {
      return failure(`cannot read ${path}: ${explainSystemError(error)}`)
    }
  },
})

const LARGE_FILE_BYTES = 512_000
const LARGE_LIMIT = 200
/** Limit for workspaces that can only return whole files. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024

interface Page {
  readonly given: string
  readonly target: string
  readonly real: string
  readonly facts: FileFacts
  readonly first: number
  readonly count: number
}

async function readPage(page: Page, context: ToolContext): Promise<ToolResult> {
  const { given, target, facts } = page
  const { files } = context.workspace
  if (isImage(target)) return await readImage(page, context)
  const settings = await maskedSettings(page, context)
  if (settings?.ok === false) return failure(settings.error)
  const document = settings ?? (await extractDocument(target, facts, files))
  if (document?.ok !== true) {
    const refused = notText(page, document?.error) ?? tooLarge(page, context)
    if (refused !== undefined) return refused
  }
  const again = repeatedRead(page, context)
  if (again !== undefined) return again
  const chunks =
    document?.ok === true ? oneChunk(document.value) : fileChunks(target, facts, { files, signal: context.signal })
  const window = await readLineWindow(chunks, {
    first: page.first,
    count: page.count,
    margin: MAX_KEY_LINES,
    maxLineChars: Math.max(MAX_SCANNED_LINE_CHARS, 2 * context.limits.maxLineLength + 2),
    maxCountedBytes: context.workspace.kind === "local" ? MAX_COUNTED_BYTES : MAX_COUNTED_REMOTE_BYTES,
  })
  if (looksBinary(window.sample))
    return failure(`${given} is a binary file`, { is_binary: true, file_size: facts.size })
  return showPage(page, { window, isDocument: document?.ok === true && settings === undefined }, context)
}

/** The settings of Hermes without their secrets; undefined for other files. */
async function maskedSettings(
  { given, target, real, facts }: Page,
  context: ToolContext,
): Promise<Result<string> | undefined> {
  const { directories } = context.ports.files ?? {}
  if (directories === undefined || context.workspace.kind !== "local") return undefined
  const { files } = context.workspace
  if (real !== (await files.realPath(join(directories.hermesHome, "config.yaml")))) return undefined
  if (facts.size > MAX_SETTINGS_BYTES) return fail(`${given} is too large to find the secrets in it`)
  const { maskSettingsText } = await import("../../config/mask-settings-text.ts")
  const masked = await maskSettingsText(Buffer.from(await files.read(target)).toString("utf8"))
  return masked === undefined
    ? fail(`${given} is not valid YAML, so its secrets cannot be masked; \`hermes config check\` shows what is wrong`)
    : ok(masked)
}

const MAX_SETTINGS_BYTES = 1024 * 1024

/** How much is read to count the lines after the page: a fraction of a second. On another machine each MB is a round trip. */
const MAX_COUNTED_BYTES = 64 * 1024 * 1024
const MAX_COUNTED_REMOTE_BYTES = 4 * 1024 * 1024
/** Long enough to recognise a whole private key on one line. */
const MAX_SCANNED_LINE_CHARS = 8192

async function* oneChunk(text: string): AsyncGenerator<Uint8Array, void, void> {
  yield await Promise.resolve(new TextEncoder().encode(text))
}

function notText({ given, target, facts }: Page, why: string | undefined): ToolResult | undefined {
  const binary = binaryKind(target)
  if (binary === undefined) return undefined
  const reason = why === undefined ? "" : `, and its text could not be extracted: ${why}`
  return failure(`${given} is a binary file (${binary})${reason}`, {
    is_binary: true,
    file_size: facts.size,
  })
}

function tooLarge({ given, facts }: Page, { workspace }: ToolContext): ToolResult | undefined {
  if (workspace.files.readRange !== undefined || facts.size <= MAX_WHOLE_BYTES) return undefined
  return failure(
    `${given} is ${facts.size} bytes, too large to read whole; look at a part of it with the terminal tool`,
    { file_size: facts.size },
  )
}

/** Content that the model already has is not returned again; repeating the request is refused. */
function repeatedRead({ given, real, facts, first, count }: Page, context: ToolContext): ToolResult | undefined {
  const times = context.ports.files?.timesRequestedAgain({ path: real, offset: first, limit: count }, facts) ?? 0
  if (times === 0) return undefined
  if (times > 1) {
    return failure(
      `BLOCKED: you have requested this part of ${given} ${times + 1} times, and it has not changed. Use what you have read, or read another part.`,
      { path: given, already_read: times + 1 },
    )
  }
  return {
    content: { status: "unchanged", message: UNCHANGED_NOTICE, path: given, dedup: true, content_returned: false },
    summary: "unchanged since the last read",
  }
}

interface FoundText {
  readonly window: LineWindow
  readonly isDocument: boolean
}

function showPage(page: Page, { window, isDocument }: FoundText, context: ToolContext): ToolResult {
  const { given, target, facts, first, count } = page
  const masked = maskPrivateKeys(window.lines, (key) => context.redact(key, { codeFile: true }))
  const shown = masked.slice(first - window.from, first - window.from + count)
  const content = context.redact(
    shown.map((text, index) => `${first + index}|${cutLine(text, context.limits.maxLineLength)}`).join("\n"),
    { codeFile: true },
  )
  const chars = codePointLength(content)
  const size = isDocument ? facts.size : Math.max(window.bytes, facts.size)
  const known = { ...(window.totalLines === undefined ? {} : { total_lines: window.totalLines }), file_size: size }
  if (chars > context.limits.readMaxChars) {
    return failure(
      `this part of ${given} has ${chars} characters, more than the limit of ${context.limits.readMaxChars}; use a smaller limit`,
      { path: given, ...known },
    )
  }
  const end = first + shown.length - 1
  const truncated = window.totalLines === undefined || end < window.totalLines
  const uncounted = window.totalLines === undefined ? `; the file has more than ${window.countedLines} lines` : ""
  const repetition = checkRepetition({ signature: `read ${first} ${count} ${page.real}`, what: "read" }, context)
  if (repetition.kind === "blocked") return repetition.result
  recordRead(page, truncated || first > 1, context)
  const warnings = [
    repetition.kind === "warned" ? repetition.warning : undefined,
    window.replaced ? "the file is not valid UTF-8; bytes that could not be read are shown as \u{FFFD}" : undefined,
    outsideRootWarning(given, target, { workspace: context.workspace, tracker: context.ports.files }),
  ].filter((warning) => warning !== undefined)
  return {
    content: {
      content,
      ...known,
      truncated,
      ...resolvedField(given, target),
      ...(isDocument ? { extracted_document: true } : {}),
      ...(truncated && shown.length > 0 ? { hint: `continue with offset ${end + 1}${uncounted}` } : {}),
      ...(shown.length > 0 ? {} : { hint: nothingShown(window.totalLines, first) }),
      ...(truncated && count > LARGE_LIMIT && size > LARGE_FILE_BYTES
        ? { _hint: "this file is large; search_files finds relevant lines faster" }
        : {}),
      ...(warnings.length === 0 ? {} : { _warning: warnings.join("; ") }),
    },
    summary: `${shown.length} of ${window.totalLines ?? `more than ${window.countedLines}`} lines`,
  }
}

function recordRead({ real, facts, first, count }: Page, partial: boolean, { ports }: ToolContext): void {
  const { modifiedMs, size } = facts
  ports.files?.recordRead({ path: real, offset: first, limit: count }, { modifiedMs, size, partial })
}

function nothingShown(lines: number | undefined, offset: number): string {
  return lines === 0 ? "the file is empty" : `the file has ${lines ?? "fewer"} lines; offset ${offset} is past its end`
}

function cutLine(text: string, max: number): string {
  return codePointLength(text) > max ? `${takeCodePoints(text, max)}... [truncated]` : text
}

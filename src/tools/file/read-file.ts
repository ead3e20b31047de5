import { basename, dirname, extname } from "node:path"

import { z } from "zod"

import { explainSystemError } from "../../base/system-error.ts"
import { codePointLength, takeCodePoints } from "../../base/text.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import { digestChars, digestValue } from "../../toolkit/digest-line.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"
import { binaryReason, isImage, looksBinary } from "./binary.ts"
import { maskPrivateKeys } from "./private-key-lines.ts"
import { refusedDevice } from "./refused-source.ts"
import { similarNames } from "./similar-names.ts"

const DEFAULT_LIMIT = 500

/** Numbers a model wrote badly are put right, never refused. */
const line = (fallback: number) => z.int().default(fallback).catch(fallback)

export const readFile = defineTool({
  name: "read_file",
  toolset: "file",
  description:
    "Read a text file with numbered lines (`12|text`). Use this instead of cat, head or tail. Page through long files with " +
    "offset (first line, from 1) and limit (at most 2000 lines). A missing file is answered with similar names. Images and other " +
    "binary files are not returned; very large results are refused with advice to use a smaller limit.",
  input: z.object({
    path: z.string().min(1).describe("File to read; relative paths start at the working directory"),
    offset: line(1).describe("First line, counted from 1"),
    limit: line(DEFAULT_LIMIT).describe("How many lines, at most 2000"),
  }),
  access: "read",
  subject: ({ path }) => ({ kind: "path", path }),
  preview: ({ path }) => path,
  parallel: "by-path",
  maxResultChars: "unlimited",
  emoji: "📖",
  idempotent: true,
  inScripts: true,
  provenance: "file",
  digest: ({ args, result }) =>
    `[read_file] read ${digestValue(args["path"])} from line ${digestValue(args["offset"]) || "1"} (${digestChars(result)} chars)`,
  run: async ({ path, offset, limit }, context) => {
    const target = context.workspace.files.resolve(path)
    try {
      const refused = refusedDevice(target) ?? refusedDevice(await context.workspace.files.realPath(target))
      if (refused !== undefined) return failure(refused)
      const facts = await context.workspace.files.stat(target)
      if (facts === undefined) return await notFound(target, context)
      if (facts.kind === "directory")
        return failure(`${path} is a directory; list it with search_files and target "files"`)
      if (facts.kind === "other") return failure(`${path} is not a regular file`)
      if (isImage(target)) {
        return failure(`${path} is an image and cannot be read as text`, { is_image: true })
      }
      const binary = binaryReason(target)
      if (binary !== undefined) return failure(`${path} is a binary file (${binary})`, { is_binary: true })
      if (facts.size > MAX_FILE_BYTES) {
        return failure(
          `${path} is ${facts.size} bytes, too large to read whole; look at a part of it with the terminal tool`,
          {
            file_size: facts.size,
          },
        )
      }
      const bytes = await context.workspace.files.read(target)
      return page(bytes, { target, given: path, offset, limit, context })
    } catch (error) {
      return failure(`cannot read ${path}: ${explainSystemError(error)}`)
    }
  },
})

const MAX_FILE_BYTES = 64 * 1024 * 1024
const LARGE_FILE_BYTES = 512_000

interface Page {
  readonly target: string
  readonly given: string
  readonly offset: number
  readonly limit: number
  readonly context: ToolContext
}

function page(bytes: Uint8Array, { target, given, offset, limit, context }: Page): ToolResult {
  const text = new TextDecoder("utf-8").decode(bytes)
  if (looksBinary(text)) return failure(`${given} is a binary file`, { is_binary: true })
  const lines = maskPrivateKeys(splitLines(text), (key) => context.redact(key, { codeFile: true }))
  const first = Math.max(1, offset)
  const count = Math.min(Math.max(1, limit), context.limits.maxLines)
  const shown = lines.slice(first - 1, first - 1 + count)
  const truncated = first - 1 + count < lines.length
  const content = context.redact(
    shown.map((line, index) => `${first + index}|${cutLine(line, context.limits.maxLineLength)}`).join("\n"),
    { codeFile: true },
  )
  const chars = codePointLength(content)
  const facts = { total_lines: lines.length, file_size: bytes.byteLength }
  if (chars > context.limits.readMaxChars) {
    return failure(
      `this part of ${given} has ${chars} characters, more than the ${context.limits.readMaxChars} that fit; use a smaller limit`,
      { path: given, ...facts },
    )
  }
  const end = first + shown.length - 1
  return {
    content: {
      content,
      ...facts,
      truncated,
      ...(target === given ? {} : { resolved_path: target }),
      ...(truncated ? { hint: `continue with offset ${end + 1}` } : {}),
      ...(shown.length > 0 ? {} : { hint: nothingShown(lines.length, first) }),
      ...(truncated && count > 200 && bytes.byteLength > LARGE_FILE_BYTES
        ? { _hint: "this file is large; search_files finds the interesting lines faster" }
        : {}),
    },
    summary: `${shown.length} of ${lines.length} lines`,
  }
}

function nothingShown(lines: number, offset: number): string {
  return lines === 0 ? "the file is empty" : `the file has ${lines} lines; offset ${offset} is past its end`
}

/** CRLF is shown as LF (the decoder has dropped a byte order mark); a final newline does not make another line. */
function splitLines(text: string): readonly string[] {
  const clean = text.replaceAll("\r\n", "\n")
  if (clean === "") return []
  const lines = clean.split("\n")
  if (lines.at(-1) === "") lines.pop()
  return lines
}

function cutLine(line: string, max: number): string {
  return codePointLength(line) > max ? `${takeCodePoints(line, max)}... [truncated]` : line
}

async function notFound(target: string, context: ToolContext): Promise<ToolResult> {
  let names: string[] = []
  try {
    const entries = await context.workspace.files.list(dirname(target))
    names = similarNames(
      basename(target),
      entries.map((entry) => entry.name),
      extname(target),
    )
  } catch {
    // The directory is missing as well: there is nothing similar to offer.
  }
  return failure(`file not found: ${target}`, names.length === 0 ? {} : { similar_files: names })
}

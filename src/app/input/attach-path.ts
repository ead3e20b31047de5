import { extname, relative, resolve } from "node:path"

import { fileSize } from "../../base/file-size.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { ACCOUNT_START_UP } from "../../config/protected-paths.ts"
import type { Workspace } from "../../exec/workspace.ts"
import { isWithin, readRefusal } from "../../policy/file-floor.ts"
import type { FloorDirectories } from "../../policy/file-floor.ts"
import { foldedPath } from "../../policy/folded-path.ts"
import type { CallToolPort } from "../../toolkit/ports/call-tool.ts"
import { callForFields, fenced } from "./attachment.ts"
import type { Attachment, ReferenceTools } from "./attachment.ts"
import type { LineRange } from "./parse-references.ts"

export interface PathContext {
  readonly calls: Pick<CallToolPort, "call">
  readonly tools: ReferenceTools
  readonly workspace: Workspace
  readonly directories: FloorDirectories
  /** The directory of the session, which references must not leave. */
  readonly root: string
}

const MAX_LINES = 2000
const MAX_ENTRIES = 200

export async function attachFile(
  { path, lines }: { readonly path: string; readonly lines?: LineRange },
  context: PathContext,
): Promise<Result<Attachment>> {
  const { fileReader } = context.tools
  if (fileReader === undefined) return fail("this session cannot read files, because the file toolset is not enabled")
  const found = await pathInside(path, context)
  if (!found.ok) return found
  const first = lines?.first ?? 1
  const limit = lines === undefined ? MAX_LINES : Math.min(MAX_LINES, lines.last - lines.first + 1)
  const read = await callForFields(context.calls, fileReader, { path: found.value, offset: first, limit })
  if (!read.ok) {
    const { reason, fields } = read.error
    return fields["is_binary"] === true ? ok({ body: binaryNote(path, fields) }) : fail(reason)
  }
  const { content, text, total_lines: total, truncated, hint } = read.value
  // An image is described in words here; the model does not get its pixels.
  if (typeof text === "string") return ok({ body: `${text}\n[Only this description of ${path} is attached.]` })
  if (typeof content !== "string") return fail("it has no text")
  const shown = content.split("\n").map(withoutNumber).join("\n")
  const isCut = truncated === true && (lines === undefined || lines.last > first + limit - 1)
  const rest = isCut
    ? [`[Only the first ${limit} of ${typeof total === "number" ? total : "many"} lines are attached.]`]
    : []
  const empty = content === "" && typeof hint === "string" ? [`[${hint}]`] : []
  return ok({ body: [fenced(shown, languageOf(path)), ...rest, ...empty].join("\n") })
}

export async function attachFolder(path: string, context: PathContext): Promise<Result<Attachment>> {
  const { fileSearch } = context.tools
  if (fileSearch === undefined) return fail("this session cannot list files, because the file toolset is not enabled")
  const found = await pathInside(path, context)
  if (!found.ok) return found
  const facts = await context.workspace.files.stat(context.workspace.files.resolve(found.value))
  if (facts !== undefined && facts.kind !== "directory") return fail("it is not a folder; use @file:")
  const listed = await callForFields(context.calls, fileSearch, {
    pattern: "*",
    target: "files",
    path: found.value,
    limit: MAX_ENTRIES,
  })
  if (!listed.ok) return fail(listed.error.reason)
  const { files, total_count: total } = listed.value
  const names = Array.isArray(files) ? files.filter((name) => typeof name === "string") : []
  if (names.length === 0) return ok({ body: "[The folder has no files, apart from ignored and hidden ones.]" })
  const left = typeof total === "number" ? total - names.length : 0
  const inRoot = names.map((name) => relative(context.root, resolve(context.root, name)) || name).toSorted()
  return ok({
    body: [fenced(inRoot.join("\n")), ...(left > 0 ? [`[${left} more files are not listed.]`] : [])].join("\n"),
  })
}

/** The real path; links are resolved here, so that a link that changes later is not followed. */
async function pathInside(path: string, { workspace, directories, root }: PathContext): Promise<Result<string>> {
  const { files } = workspace
  try {
    const target = path.startsWith("~") ? files.resolve(path) : resolve(root, path)
    const [real, realRoot] = [await files.realPath(target), await files.realPath(root)]
    if (!isWithin(target, root) || !isWithin(real, realRoot)) return fail(`it is outside the working directory ${root}`)
    const refused = readRefusal(target, directories) ?? readRefusal(real, directories)
    if (refused !== undefined) return fail(refused)
    if (isStartUpFile(real, directories.userHome)) return fail("files that shells run at their start are not attached")
    // A short path is easier to read for the user; it means the same only while the shell is in this directory.
    return ok(workspace.cwd() === realRoot ? relative(realRoot, real) || "." : real)
  } catch (error) {
    return fail(errorMessage(error))
  }
}

function isStartUpFile(path: string, userHome: string): boolean {
  const [folded, home] = [foldedPath(path), foldedPath(userHome)]
  return ACCOUNT_START_UP.some((name) => isWithin(folded, foldedPath(`${home}/${name}`)))
}

function binaryNote(path: string, { error, file_size: size }: Readonly<Record<string, unknown>>): string {
  const type = typeof error === "string" ? /\(([^)]+)\)/u.exec(error)?.[1] : undefined
  const facts = [type ?? "binary", ...(typeof size === "number" ? [fileSize(size)] : [])]
  return `[${path} is a binary file (${facts.join(", ")}); its content is not attached.]`
}

/** `12|text` → `text` */
function withoutNumber(line: string): string {
  return line.replace(/^\d+\|/u, "")
}

function languageOf(path: string): string {
  const extension = extname(path).slice(1).toLowerCase()
  return /^[a-z0-9+#]{1,12}$/u.test(extension) ? extension : ""
}

import { takeCodePoints } from "../../base/text.ts"
import type { FileErrors, NewError, PendingDiagnostics } from "../../exec/language-server/language-diagnostics.ts"
import type { ToolContext } from "../../toolkit/tool.ts"
import { holdsSecrets } from "./refused-source.ts"
import { shownPath } from "./store-file.ts"

const MAX_ERRORS_OF_FILE = 20
const MAX_CHARS = 4000
/** Room for the line that says how much is missing. */
const NOTE_CHARS = 80

/** Before files are changed; the paths are absolute. Undefined where no language server knows any of them. */
export async function beforeChange(
  paths: readonly string[],
  { ports, signal }: ToolContext,
): Promise<PendingDiagnostics | undefined> {
  const shown = paths.filter((path) => !holdsSecrets(path, ports.files?.places))
  return shown.length === 0 ? undefined : await ports.diagnostics?.before(shown, signal)
}

/** What language servers find newly wrong: a field for the model, and the end of a sentence for the person. */
export interface NewErrors {
  readonly field: { readonly lsp_diagnostics?: string }
  readonly words: string
}

const NONE: NewErrors = { field: {}, words: "" }

/** After the change. */
export async function afterChange(
  pending: PendingDiagnostics | undefined,
  paths: readonly string[],
  context: ToolContext,
): Promise<NewErrors> {
  if (pending === undefined || context.signal.aborted) return NONE
  const found = await pending.after(paths, context.signal)
  const count = found.reduce((sum, { errors }) => sum + errors.length, 0)
  if (count === 0) return NONE
  return {
    field: { lsp_diagnostics: errorsText(found, context) },
    words: `, ${count} new ${count === 1 ? "error" : "errors"}`,
  }
}

/** One block for each file, one line for each error; what does not fit is counted. */
export function errorsText(found: readonly FileErrors[], context: Pick<ToolContext, "redact" | "workspace">): string {
  const blocks: string[] = []
  let left = MAX_CHARS - NOTE_CHARS
  let omitted = 0
  for (const { path, errors } of found) {
    const name = shownPath(path, context.workspace)
    const open = `<diagnostics file="${attribute(name)}">`
    const close = "</diagnostics>"
    let room = left - open.length - close.length - 2
    const lines: string[] = []
    for (const error of errors) {
      const line = takeCodePoints(context.redact(errorLine(error), { codeFile: true }), MAX_LINE_CHARS)
      if (lines.length === MAX_ERRORS_OF_FILE || line.length + 1 > room) break
      lines.push(line)
      room -= line.length + 1
    }
    omitted += errors.length - lines.length
    if (lines.length === 0) continue
    blocks.push([open, ...lines, close].join("\n"))
    left = room
  }
  return [...blocks, ...(omitted === 0 ? [] : [`(${omitted} more new errors are not shown)`])].join("\n")
}

const MAX_LINE_CHARS = 1000

function errorLine({ line, column, message, code, source }: NewError): string {
  const place = `ERROR [${line}:${column}] ${oneLine(message)}`
  return `${place}${code === "" ? "" : ` [${oneLine(code)}]`}${source === "" ? "" : ` (${oneLine(source)})`}`
}

/** The words are the server's, and quote the file: they must neither begin a new line nor end the block. */
function oneLine(text: string): string {
  return text
    .replaceAll(/\s+/gu, " ")
    .replaceAll(/\p{Cc}/gu, "")
    .replaceAll(/<(?=\/?diagnostics)/giu, "‹")
    .trim()
}

function attribute(name: string): string {
  return oneLine(name).replaceAll('"', "&quot;")
}

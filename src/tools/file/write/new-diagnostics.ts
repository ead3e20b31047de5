import { takeCodePoints } from "../../../base/text.ts"
import type { FileErrors, NewError, PendingDiagnostics } from "../../../exec/language-server/language-diagnostics.ts"
import type { ToolContext } from "../../../toolkit/tool.ts"
import { holdsSecrets } from "../paths/refused-path.ts"
import { displayPath } from "../paths/display-path.ts"

const MAX_ERRORS_OF_FILE = 20
const MAX_CHARS = 4000
/** Room for the line that states how much is omitted. */
const NOTE_CHARS = 80

/** Called before files change, with absolute paths. Undefined where no language server handles any of them. */
export async function diagnosticsBefore(
  paths: readonly string[],
  { ports, signal }: ToolContext,
): Promise<PendingDiagnostics | undefined> {
  const shown = paths.filter((path) => !holdsSecrets(path, ports.files?.directories))
  return shown.length === 0 ? undefined : await ports.diagnostics?.before(shown, signal)
}

/** New errors reported by language servers: a field for the model, and the end of a summary for the user. */
export interface NewDiagnostics {
  readonly field: { readonly lsp_diagnostics?: string }
  readonly summary: string
}

const NONE: NewDiagnostics = { field: {}, summary: "" }

/** Called after the change. */
export async function diagnosticsAfter(
  pending: PendingDiagnostics | undefined,
  paths: readonly string[],
  context: ToolContext,
): Promise<NewDiagnostics> {
  if (pending === undefined || context.signal.aborted) return NONE
  const found = await pending.after(paths, context.signal)
  const count = found.reduce((sum, { errors }) => sum + errors.length, 0)
  if (count === 0) return NONE
  return {
    field: { lsp_diagnostics: formatDiagnostics(found, context) },
    summary: `, ${count} new ${count === 1 ? "error" : "errors"}`,
  }
}

/** One block per file, one line per error; errors that do not fit are counted. */
export function formatDiagnostics(
  found: readonly FileErrors[],
  context: Pick<ToolContext, "redact" | "workspace">,
): string {
  const blocks: string[] = []
  let left = MAX_CHARS - NOTE_CHARS
  let omitted = 0
  for (const { path, errors } of found) {
    const name = displayPath(path, context.workspace)
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
  const error = `ERROR [${line}:${column}] ${oneLine(message)}`
  return `${error}${code === "" ? "" : ` [${oneLine(code)}]`}${source === "" ? "" : ` (${oneLine(source)})`}`
}

/** Messages quote the file, so they must neither begin a new line nor end the block. */
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

import { fail, ok } from "../../../base/result.ts"
import type { Result } from "../../../base/result.ts"
import { explainSystemError } from "../../../base/system-error.ts"
import { scrubSurrogates } from "../../../base/text.ts"
import type { FileStamp } from "../../../toolkit/ports/files.ts"
import type { ToolContext, ToolResult } from "../../../toolkit/tool.ts"
import { failure } from "../../failure.ts"
import { crossProfileRefusal } from "../paths/cross-profile.ts"
import { describeCandidates } from "./fuzzy/candidates.ts"
import { replaceText } from "./fuzzy/replace-text.ts"
import type { ReplaceProblem } from "./fuzzy/replace-text.ts"
import type { PendingDiagnostics } from "../../../exec/language-server/language-diagnostics.ts"
import { lintChange } from "../write/lint/lint-change.ts"
import { diagnosticsBefore, diagnosticsAfter } from "../write/new-diagnostics.ts"
import { holdsSecrets } from "../paths/refused-path.ts"
import { fileDiff, boundDiff } from "../write/file-diff.ts"
import { outsideRootWarning, resolvedField, displayPath } from "../paths/display-path.ts"
import { similarFiles } from "../paths/similar-names.ts"
import { stampOf, writeVerified } from "../write/write-verified.ts"
import { encodeText } from "../text/text-encoding.ts"
import type { DecodedText } from "../text/text-encoding.ts"
import { readEditable } from "./v4a/plan-patch.ts"

export interface ReplaceRequest {
  readonly path: string
  readonly old: string
  readonly replacement: string
  readonly all: boolean
  readonly crossProfile: boolean
}

/** The replace mode of `patch`: replaces a text in one file. */
export async function replaceInFile(request: ReplaceRequest, context: ToolContext): Promise<ToolResult> {
  const { files } = context.workspace
  const tracker = context.ports.files
  const target = files.resolve(request.path)
  try {
    const real = await files.realPath(target)
    const refused = request.crossProfile
      ? undefined
      : (crossProfileRefusal(target, tracker?.directories) ?? crossProfileRefusal(real, tracker?.directories))
    if (refused !== undefined) return failure(refused)
    const work = (): Promise<ToolResult> => editFile({ ...request, target, real }, context)
    if (tracker === undefined) return await work()
    return (await tracker.withLocks([real], context.signal, work)) ?? failure("interrupted; nothing was changed")
  } catch (error) {
    return failure(`cannot change ${request.path}: ${explainSystemError(error)}`)
  }
}

interface LocatedRequest extends ReplaceRequest {
  readonly target: string
  readonly real: string
}

/** Waits for language servers only when the edit applies, and plans it again afterwards, because the file may have changed. */
async function editFile(request: LocatedRequest, context: ToolContext): Promise<ToolResult> {
  const planned = await planEdit(request, context)
  if (!planned.ok) return planned.error
  const pending = await diagnosticsBefore([request.target], context)
  if (context.signal.aborted) return failure("interrupted; nothing was changed")
  const edit = pending === undefined ? planned : await planEdit(request, context)
  return edit.ok ? await applyEdit(request, { ...edit.value, pending }, context) : edit.error
}

interface PlannedEdit {
  readonly before: DecodedText
  readonly text: string
  readonly count: number
  readonly stamp: FileStamp | undefined
}

async function planEdit(request: LocatedRequest, context: ToolContext): Promise<Result<PlannedEdit, ToolResult>> {
  const { files } = context.workspace
  const stamp = await stampOf(request.target, files)
  if (stamp === undefined && (await files.stat(request.target)) === undefined) {
    return fail(failure(`file not found: ${request.target}`, await similarFiles(request.target, files)))
  }
  const decoded = await readEditable(request.target, request.path, files)
  if (!decoded.ok) return fail(failure(decoded.error))
  const replaced = replaceText(decoded.value.text, {
    old: request.old,
    replacement: scrubSurrogates(request.replacement),
    all: request.all,
  })
  return replaced.ok
    ? ok({ ...replaced.value, before: decoded.value, stamp })
    : fail(noMatch(request, { problem: replaced.error, text: decoded.value.text }, context))
}

async function applyEdit(
  request: LocatedRequest,
  { stamp, ...edit }: PlannedEdit & { readonly pending: PendingDiagnostics | undefined },
  context: ToolContext,
): Promise<ToolResult> {
  const { files } = context.workspace
  const tracker = context.ports.files
  const warning = stamp === undefined ? undefined : tracker?.staleWarning(request.real, stamp, "edit")
  await writeVerified(request.target, encodeText(edit.text, edit.before.format), files)
  tracker?.recordWrite(request.real, await stampOf(request.target, files), "edit")
  tracker?.forgetFailedEdits(request.real)
  return await changeResult(request, { ...edit, warning }, context)
}

interface Change {
  readonly before: DecodedText
  readonly text: string
  readonly count: number
  readonly warning: string | undefined
  readonly pending: PendingDiagnostics | undefined
}

async function changeResult(request: LocatedRequest, change: Change, context: ToolContext): Promise<ToolResult> {
  const { workspace, ports } = context
  const { target, path } = request
  const name = displayPath(target, workspace)
  const diff = boundDiff(fileDiff(target, { before: change.before.text, after: change.text }, context), context)
  const [lint, diagnostics] = await Promise.all([
    lintChange({ path: target, before: change.before.text, after: change.text }, context),
    diagnosticsAfter(change.pending, [target], context),
  ])
  const warning = change.warning ?? outsideRootWarning(path, target, { workspace, tracker: ports.files })
  return {
    content: {
      success: true,
      diff: diff.forModel,
      files_modified: [target],
      ...(lint === undefined ? {} : { lint }),
      ...diagnostics.field,
      ...resolvedField(path, target),
      ...(warning === undefined ? {} : { _warning: warning }),
      ...(diff.forModel === "" ? { _hint: "the file already had this content" } : {}),
    },
    summary: `${change.count} ${change.count === 1 ? "replacement" : "replacements"} in ${name}${diagnostics.summary}`,
    diff: diff.forUser,
    filesChanged: [target],
  }
}

const MANY_FAILURES = 3

function noMatch(
  request: LocatedRequest,
  { problem, text }: { readonly problem: ReplaceProblem; readonly text: string },
  context: ToolContext,
): ToolResult {
  const failures = context.ports.files?.recordFailedEdit(request.real) ?? 1
  const isShown = problem.kind === "no-match" && !holdsSecrets(request.real, context.ports.files?.directories)
  const candidates = isShown ? describeCandidates(text, request.old) : ""
  const error =
    candidates === "" ? problem.message : `${problem.message}.\n${context.redact(candidates, { codeFile: true })}`
  return failure(error, {
    _hint:
      failures < MANY_FAILURES
        ? `read ${request.path} again: old_string must be text that is in the file now`
        : `${failures} edits of ${request.path} have failed: read the whole region with read_file and copy it, or use write_file`,
  })
}

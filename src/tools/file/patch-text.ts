import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { scrubSurrogates } from "../../base/text.ts"
import type { FileStamp } from "../../toolkit/ports/files.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"
import { crossProfileRefusal } from "./cross-profile.ts"
import { describeCandidates } from "./fuzzy/candidates.ts"
import { replaceText } from "./fuzzy/replace-text.ts"
import type { ReplaceProblem } from "./fuzzy/replace-text.ts"
import type { PendingDiagnostics } from "../../exec/language-server/language-diagnostics.ts"
import { lintChange } from "./lint/lint-change.ts"
import { beforeChange, afterChange } from "./new-errors.ts"
import { holdsSecrets } from "./refused-source.ts"
import { fileDiff, shownDiff } from "./shown-diff.ts"
import { outsideWarning, resolvedField, shownPath, similarFiles, stampOf, storeAndCheck } from "./store-file.ts"
import { encodeText } from "./text-form.ts"
import type { DecodedText } from "./text-form.ts"
import { readEditable } from "./v4a/plan-patch.ts"

export interface TextPatch {
  readonly path: string
  readonly old: string
  readonly replacement: string
  readonly all: boolean
  readonly crossProfile: boolean
}

/** The replace mode of `patch`: one text of one file. */
export async function patchText(wanted: TextPatch, context: ToolContext): Promise<ToolResult> {
  const { files } = context.workspace
  const tracker = context.ports.files
  const target = files.resolve(wanted.path)
  try {
    const real = await files.realPath(target)
    const refused = wanted.crossProfile
      ? undefined
      : (crossProfileRefusal(target, tracker?.places) ?? crossProfileRefusal(real, tracker?.places))
    if (refused !== undefined) return failure(refused)
    const work = (): Promise<ToolResult> => editFile({ ...wanted, target, real }, context)
    if (tracker === undefined) return await work()
    return (await tracker.withLocks([real], context.signal, work)) ?? failure("interrupted; nothing was changed")
  } catch (error) {
    return failure(`cannot change ${wanted.path}: ${explainSystemError(error)}`)
  }
}

interface LocatedPatch extends TextPatch {
  readonly target: string
  readonly real: string
}

/** Language servers are asked only about an edit that fits, and what they were given the time for may have changed the file. */
async function editFile(wanted: LocatedPatch, context: ToolContext): Promise<ToolResult> {
  const planned = await planEdit(wanted, context)
  if (!planned.ok) return planned.error
  const pending = await beforeChange([wanted.target], context)
  if (context.signal.aborted) return failure("interrupted; nothing was changed")
  const edit = pending === undefined ? planned : await planEdit(wanted, context)
  return edit.ok ? await makeEdit(wanted, { ...edit.value, pending }, context) : edit.error
}

interface PlannedEdit {
  readonly before: DecodedText
  readonly text: string
  readonly count: number
  readonly stamp: FileStamp | undefined
}

async function planEdit(wanted: LocatedPatch, context: ToolContext): Promise<Result<PlannedEdit, ToolResult>> {
  const { files } = context.workspace
  const stamp = await stampOf(wanted.target, files)
  if (stamp === undefined && (await files.stat(wanted.target)) === undefined) {
    return fail(failure(`file not found: ${wanted.target}`, await similarFiles(wanted.target, files)))
  }
  const decoded = await readEditable(wanted.target, wanted.path, files)
  if (!decoded.ok) return fail(failure(decoded.error))
  const replaced = replaceText(decoded.value.text, {
    old: wanted.old,
    replacement: scrubSurrogates(wanted.replacement),
    all: wanted.all,
  })
  return replaced.ok
    ? ok({ ...replaced.value, before: decoded.value, stamp })
    : fail(noMatch(wanted, { problem: replaced.error, text: decoded.value.text }, context))
}

async function makeEdit(
  wanted: LocatedPatch,
  { stamp, ...edit }: PlannedEdit & { readonly pending: PendingDiagnostics | undefined },
  context: ToolContext,
): Promise<ToolResult> {
  const { files } = context.workspace
  const tracker = context.ports.files
  const warning = stamp === undefined ? undefined : tracker?.staleWarning(wanted.real, stamp, "edit")
  await storeAndCheck(wanted.target, encodeText(edit.text, edit.before.form), files)
  tracker?.recordWrite(wanted.real, await stampOf(wanted.target, files), "edit")
  tracker?.forgetFailedEdits(wanted.real)
  return await changed(wanted, { ...edit, warning }, context)
}

interface Change {
  readonly before: DecodedText
  readonly text: string
  readonly count: number
  readonly warning: string | undefined
  readonly pending: PendingDiagnostics | undefined
}

async function changed(wanted: LocatedPatch, change: Change, context: ToolContext): Promise<ToolResult> {
  const { workspace, ports } = context
  const { target, path } = wanted
  const name = shownPath(target, workspace)
  const diff = shownDiff(fileDiff(target, { before: change.before.text, after: change.text }, context), context)
  const [lint, diagnostics] = await Promise.all([
    lintChange({ path: target, before: change.before.text, after: change.text }, context),
    afterChange(change.pending, [target], context),
  ])
  const warning = change.warning ?? outsideWarning(path, target, { workspace, tracker: ports.files })
  return {
    content: {
      success: true,
      diff: diff.forModel,
      files_modified: [target],
      ...(lint === undefined ? {} : { lint }),
      ...diagnostics.field,
      ...resolvedField(path, target),
      ...(warning === undefined ? {} : { _warning: warning }),
      ...(diff.forModel === "" ? { _hint: "the file had this content already" } : {}),
    },
    summary: `${change.count} ${change.count === 1 ? "place" : "places"} changed in ${name}${diagnostics.words}`,
    diff: diff.forPeople,
    filesChanged: [target],
  }
}

const MANY_FAILURES = 3

function noMatch(
  wanted: LocatedPatch,
  { problem, text }: { readonly problem: ReplaceProblem; readonly text: string },
  context: ToolContext,
): ToolResult {
  const failures = context.ports.files?.recordFailedEdit(wanted.real) ?? 1
  const isShown = problem.kind === "no-match" && !holdsSecrets(wanted.real, context.ports.files?.places)
  const candidates = isShown ? describeCandidates(text, wanted.old) : ""
  const error =
    candidates === "" ? problem.message : `${problem.message}\n${context.redact(candidates, { codeFile: true })}`
  return failure(error, {
    _hint:
      failures < MANY_FAILURES
        ? `read ${wanted.path} again: old_string must be text that is in the file now`
        : `${failures} edits of ${wanted.path} have failed: read the whole region with read_file and copy it, or use write_file`,
  })
}

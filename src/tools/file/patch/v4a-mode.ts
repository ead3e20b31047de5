import type { PendingDiagnostics } from "../../../exec/language-server/language-diagnostics.ts"
import type { ToolContext, ToolResult } from "../../../toolkit/tool.ts"
import { failure } from "../../failure.ts"
import { crossProfileRefusal } from "../paths/cross-profile.ts"
import { lintChange } from "../write/lint/lint-change.ts"
import { diagnosticsBefore, diagnosticsAfter } from "../write/new-diagnostics.ts"
import { holdsSecrets } from "../paths/refused-path.ts"
import { fileDiff, boundDiff } from "../write/file-diff.ts"
import { displayPath } from "../paths/display-path.ts"
import { stampOf } from "../write/write-verified.ts"
import { applyPlan } from "./v4a/apply-plan.ts"
import type { AppliedPlan } from "./v4a/apply-plan.ts"
import { parsePatch, pathsOf } from "./v4a/parse-patch.ts"
import { planPatch } from "./v4a/plan-patch.ts"
import type { PatchPlan, PlannedStep } from "./v4a/plan-patch.ts"

/** The V4A mode of `patch`: checks all operations before it applies the first one. */
export async function applyV4aPatch(
  text: string,
  options: { readonly crossProfile: boolean },
  context: ToolContext,
): Promise<ToolResult> {
  const { files } = context.workspace
  const tracker = context.ports.files
  const parsed = parsePatch(text)
  if (!parsed.ok) return failure(`${parsed.error}; no files were modified`)
  const targets = [...new Set(parsed.value.flatMap(pathsOf).map((path) => files.resolve(path)))]
  const plan = (): Promise<PatchPlan> =>
    planPatch(parsed.value, {
      files,
      refuse: (path) => (options.crossProfile ? undefined : crossProfileRefusal(path, tracker?.directories)),
      holdsSecrets: (path) => holdsSecrets(path, tracker?.directories),
    })
  const work = async (): Promise<ToolResult> => {
    const planned = await plan()
    if (planned.problems.length > 0) return planFailure(planned)
    const pending = await diagnosticsBefore(changedPaths(planned.steps), context)
    if (context.signal.aborted) return failure("interrupted; no files were modified")
    // Plan again: files may have changed while waiting for language servers.
    const { steps, problems } = pending === undefined ? planned : await plan()
    if (problems.length > 0) return planFailure({ steps, problems })
    const warnings = await staleWarnings(steps, context)
    const outcome = await applyPlan(steps, files)
    await recordSteps(outcome.done, context)
    return await report(outcome, { warnings, pending }, context)
  }
  if (tracker === undefined) return await work()
  const real = await Promise.all(targets.map((path) => files.realPath(path)))
  return (await tracker.withLocks(real, context.signal, work)) ?? failure("interrupted; no files were modified")
}

function planFailure({ problems }: PatchPlan): ToolResult {
  const list = problems.map((problem) => `- ${problem}`).join("\n")
  return failure(`the patch does not apply, no files were modified:\n${list}`, {
    _hint: "read the files again and send the whole patch",
  })
}

async function staleWarnings(steps: readonly PlannedStep[], context: ToolContext): Promise<readonly string[]> {
  const tracker = context.ports.files
  if (tracker === undefined) return []
  const { files } = context.workspace
  const found = await Promise.all(
    steps.map(async ({ path }) => {
      const stamp = await stampOf(path, files)
      return stamp === undefined ? undefined : tracker.staleWarning(await files.realPath(path), stamp, "edit")
    }),
  )
  return [...new Set(found)].filter((warning) => warning !== undefined)
}

async function recordSteps(steps: readonly PlannedStep[], context: ToolContext): Promise<void> {
  const tracker = context.ports.files
  if (tracker === undefined) return
  const { files } = context.workspace
  for (const path of changedPaths(steps)) {
    tracker.recordWrite(await files.realPath(path), await stampOf(path, files), "edit")
  }
}

function changedPaths(steps: readonly PlannedStep[]): readonly string[] {
  return [...new Set(steps.flatMap((step) => (step.kind === "move" ? [step.path, step.to] : [step.path])))]
}

async function report(
  { done, stopped }: AppliedPlan,
  { warnings, pending }: { readonly warnings: readonly string[]; readonly pending: PendingDiagnostics | undefined },
  context: ToolContext,
): Promise<ToolResult> {
  const diff = boundDiff(done.map((step) => diffOf(step, context)).join(""), context)
  const [lint, diagnostics] = await Promise.all([
    lintSteps(done, context),
    diagnosticsAfter(pending, diagnosedPaths(done), context),
  ])
  const facts = {
    ...listed(
      "files_modified",
      done.flatMap((step) => (step.kind === "write" && step.before !== undefined ? [step.path] : [])),
    ),
    ...listed("files_created", done.flatMap(createdBy)),
    ...listed(
      "files_deleted",
      done.flatMap((step) => (step.kind === "write" ? [] : [step.path])),
    ),
    ...(diff.forModel === "" ? {} : { diff: diff.forModel }),
    ...(Object.keys(lint).length === 0 ? {} : { lint }),
    ...diagnostics.field,
    ...(warnings.length === 0 ? {} : { _warning: warnings.join("; ") }),
  }
  const more = { diff: diff.forUser, filesChanged: changedPaths(done) }
  if (stopped === undefined) {
    const summary = `${done.length} ${done.length === 1 ? "change" : "changes"} applied${diagnostics.summary}`
    return { content: { success: true, ...facts }, summary, ...more }
  }
  const labels = (steps: readonly PlannedStep[]): string =>
    steps.length === 0 ? "none" : steps.map(({ label }) => label).join(", ")
  const error =
    `${stopped.step.label}: ${stopped.why}. Stopped there; applied: ${labels(done)}; ` +
    `not applied: ${labels([stopped.step, ...stopped.left])}. Check the diff before you continue.`
  return { ...failure(error, { success: false, ...facts }), ...(done.length === 0 ? {} : more) }
}

/** Moved files keep their errors, so they are not reported as new. */
function diagnosedPaths(steps: readonly PlannedStep[]): readonly string[] {
  const moved = new Set(steps.flatMap((step) => (step.kind === "move" ? [step.to] : [])))
  return steps.flatMap((step) => (step.kind === "write" && !moved.has(step.path) ? [step.path] : []))
}

function createdBy(step: PlannedStep): readonly string[] {
  if (step.kind === "move") return [step.to]
  return step.kind === "write" && step.before === undefined ? [step.path] : []
}

function listed(field: string, paths: readonly string[]): Record<string, readonly string[]> {
  return paths.length === 0 ? {} : { [field]: [...new Set(paths)] }
}

function diffOf(step: PlannedStep, context: ToolContext): string {
  if (step.kind === "move") {
    return fileDiff(step.to, { before: "", after: "", movedFrom: displayPath(step.path, context.workspace) }, context)
  }
  return fileDiff(step.path, { before: step.before, after: step.kind === "write" ? step.after : undefined }, context)
}

/** Syntax checks by file; files without a checkable syntax are omitted. */
async function lintSteps(steps: readonly PlannedStep[], context: ToolContext): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  for (const step of steps) {
    if (step.kind !== "write") continue
    const path = displayPath(step.path, context.workspace)
    const lint = await lintChange({ path: step.path, before: step.before, after: step.after }, context)
    if (lint !== undefined) found[path] = lint
  }
  return found
}

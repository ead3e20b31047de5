import { basename, dirname, join } from "node:path"

import { assertNever } from "../../../../base/assert-never.ts"
import { fail, ok, type Result } from "../../../../base/result.ts"
import { explainSystemError } from "../../../../base/system-error.ts"
import { scrubSurrogates } from "../../../../base/text.ts"
import type { FileSystem } from "../../../../exec/workspace.ts"
import { MAX_EDITED_BYTES, unwritableReason } from "../../write/write-verified.ts"
import { decodeText, encodeText } from "../../text/text-encoding.ts"
import type { DecodedText } from "../../text/text-encoding.ts"
import { applyHunk, changesNothing } from "./apply-hunk.ts"
import type { Hunk } from "./parse-hunks.ts"
import { pathsOf } from "./parse-patch.ts"
import type { PatchOperation } from "./parse-patch.ts"

/** One planned file change. Paths are absolute. */
export type PlannedStep =
  | {
      readonly kind: "write"
      readonly label: string
      readonly path: string
      readonly bytes: Uint8Array
      readonly before: string | undefined
      readonly after: string
    }
  | { readonly kind: "remove"; readonly label: string; readonly path: string; readonly before: string | undefined }
  | { readonly kind: "move"; readonly label: string; readonly path: string; readonly to: string }

export interface PatchPlan {
  readonly steps: readonly PlannedStep[]
  /** All reasons against the patch; it is applied only when there are none. */
  readonly problems: readonly string[]
}

/** The state of a file after the steps planned so far. */
type ExpectedFile =
  | { readonly kind: "absent" }
  | { readonly kind: "untouched"; readonly path: string }
  | { readonly kind: "text"; readonly decoded: DecodedText }

/** Plans a patch without writing. Each operation works on the result of the ones before it. */
export async function planPatch(operations: readonly PatchOperation[], options: PlanOptions): Promise<PatchPlan> {
  const expected = new Map<string, ExpectedFile>()
  const steps: PlannedStep[] = []
  const problems: string[] = []
  for (const operation of operations) {
    const label = labelOf(operation)
    try {
      const found = await planOperation(operation, label, { ...options, expected })
      if (found.ok) steps.push(...found.value)
      else problems.push(...found.error.map((problem) => `${label}: ${problem}`))
    } catch (error) {
      problems.push(`${label}: ${explainSystemError(error)}`)
    }
  }
  return { steps, problems }
}

interface PlanOptions {
  readonly files: FileSystem
  /** Why a path must not be written, in addition to the policy's checks. */
  readonly refuse: (path: string) => string | undefined
  /** A file that must not be read must not be moved to a readable path either. */
  readonly holdsSecrets: (path: string) => boolean
}

interface PlanState extends PlanOptions {
  readonly expected: Map<string, ExpectedFile>
}

function labelOf(operation: PatchOperation): string {
  const target = "to" in operation ? ` -> '${operation.to}'` : ""
  return `${operation.kind.toUpperCase()} '${operation.path}'${target}`
}

async function planOperation(
  operation: PatchOperation,
  label: string,
  state: PlanState,
): Promise<Result<readonly PlannedStep[], readonly string[]>> {
  const refused = pathsOf(operation).flatMap((path) => refusal(path, state) ?? [])
  if (refused.length > 0) return fail(refused)
  const path = state.files.resolve(operation.path)
  const file = await expectedFile(path, state)
  switch (operation.kind) {
    case "add": {
      if (file.kind !== "absent") return fail(["the file already exists; use Update File"])
      const after = scrubSurrogates(operation.lines.map((line) => `${line}\n`).join(""))
      const decoded = decodeText(new TextEncoder().encode(after))
      state.expected.set(path, { kind: "text", decoded })
      return ok([{ kind: "write", label, path, bytes: new TextEncoder().encode(after), before: undefined, after }])
    }
    case "delete": {
      if (file.kind === "absent") return fail(["the file does not exist"])
      const text = await textOf(file, operation.path, state)
      state.expected.set(path, { kind: "absent" })
      return ok([{ kind: "remove", label, path, before: text.ok ? text.value.text : undefined }])
    }
    case "move":
      return await planMove({ path, file, from: operation.path, to: operation.to, label }, state)
    case "update": {
      if (file.kind === "absent") return fail(["the file does not exist; use Add File"])
      const text = await textOf(file, operation.path, state)
      if (!text.ok) return fail([text.error])
      const after = applyHunks(text.value.text, operation.hunks)
      if (!after.ok) return after
      const { format } = text.value
      const update = { path, file, label, before: text.value.text, after: after.value, format }
      return await planUpdate(operation, update, state)
    }
    default:
      return assertNever(operation)
  }
}

interface UpdatedFile {
  readonly path: string
  readonly file: ExpectedFile
  readonly label: string
  readonly before: string
  readonly after: string
  readonly format: DecodedText["format"]
}

/** Writes an updated file, and moves it first where the operation has a target: so it keeps its permissions. */
async function planUpdate(
  { path: from, to: given }: { readonly path: string; readonly to?: string },
  { path, file, label, before, after, format }: UpdatedFile,
  state: PlanState,
): Promise<Result<readonly PlannedStep[], readonly string[]>> {
  const bytes = encodeText(after, format)
  const written: ExpectedFile = { kind: "text", decoded: { text: after, format, valid: true } }
  const to = given === undefined ? path : state.files.resolve(given)
  if (given === undefined || to === path) {
    state.expected.set(path, written)
    return ok([{ kind: "write", label, path, bytes, before, after }])
  }
  const moved = await planMove({ path, file, from, to: given, label: `MOVE '${from}' -> '${given}'` }, state)
  if (!moved.ok) return moved
  state.expected.set(to, written)
  // A moved link may point nowhere, and a write follows it: replace it with a file.
  if (file.kind === "untouched" && (await isLink(path, state.files))) {
    return ok([
      { kind: "write", label, path: to, bytes, before: undefined, after },
      { kind: "remove", label: `DELETE '${from}'`, path, before: undefined },
    ])
  }
  return ok([...moved.value, { kind: "write", label: `UPDATE '${given}'`, path: to, bytes, before, after }])
}

async function isLink(path: string, files: FileSystem): Promise<boolean> {
  const [real, parent] = await Promise.all([files.realPath(path), files.realPath(dirname(path))])
  return real !== join(parent, basename(path))
}

interface PlannedMove {
  readonly path: string
  readonly file: ExpectedFile
  /** The paths as given. */
  readonly from: string
  readonly to: string
  readonly label: string
}

async function planMove(
  { path, file, from, to: given, label }: PlannedMove,
  state: PlanState,
): Promise<Result<readonly PlannedStep[], readonly string[]>> {
  if (file.kind === "absent") return fail([`${from} does not exist`])
  if (state.holdsSecrets(path)) return fail([`${from} holds secrets and is not moved by file tools`])
  const to = state.files.resolve(given)
  if ((await expectedFile(to, state)).kind !== "absent") return fail([`${given} already exists`])
  state.expected.set(path, { kind: "absent" })
  state.expected.set(to, file)
  return ok([{ kind: "move", label, path, to }])
}

/** Why a path is refused independent of the file. A patch has no need of `..`. */
function refusal(given: string, { refuse, files }: PlanState): string | undefined {
  if (given.split("/").includes("..")) return `${given} contains ..; name the path without it`
  if (given.endsWith("/")) return `${given} names a directory`
  return unwritableReason(given, undefined) ?? refuse(files.resolve(given))
}

async function expectedFile(path: string, { expected, files }: PlanState): Promise<ExpectedFile> {
  const known = expected.get(path)
  if (known !== undefined) return known
  return (await files.stat(path)) === undefined ? { kind: "absent" } : { kind: "untouched", path }
}

async function textOf(
  file: Exclude<ExpectedFile, { kind: "absent" }>,
  given: string,
  { files }: PlanState,
): Promise<Result<DecodedText>> {
  if (file.kind === "text") return ok(file.decoded)
  return await readEditable(file.path, given, files)
}

/** Reads the text of a file for editing. */
export async function readEditable(path: string, given: string, files: FileSystem): Promise<Result<DecodedText>> {
  const facts = await files.stat(path)
  const problem = unwritableReason(given, facts)
  if (problem !== undefined) return fail(problem)
  if ((facts?.size ?? 0) > MAX_EDITED_BYTES) return fail(`${given} is too large to edit; use a script`)
  const decoded = decodeText(await files.read(path))
  return decoded.valid ? ok(decoded) : fail(`${given} is not valid UTF-8, and an edit would damage it; use a script`)
}

function applyHunks(text: string, hunks: readonly Hunk[]): Result<string, readonly string[]> {
  const problems: string[] = []
  const effective = hunks.filter((hunk) => !changesNothing(hunk))
  if (effective.length === 0) return fail(["it adds and removes nothing"])
  let current = text
  let after = 0
  for (const [index, hunk] of hunks.entries()) {
    if (!effective.includes(hunk)) continue
    const applied = applyHunk(current, hunk, after)
    if (applied.ok) {
      current = scrubSurrogates(applied.value.text)
      after = applied.value.end
    } else {
      problems.push(hunks.length === 1 ? applied.error : `hunk ${index + 1} of ${hunks.length}: ${applied.error}`)
    }
  }
  return problems.length === 0 ? ok(current) : fail(problems)
}

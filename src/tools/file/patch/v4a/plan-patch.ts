import { assertNever } from "../../../../base/assert-never.ts"
import { fail, ok, type Result } from "../../../../base/result.ts"
import { explainSystemError } from "../../../../base/system-error.ts"
import { scrubSurrogates } from "../../../../base/text.ts"
import type { FileSystem } from "../../../../exec/workspace.ts"
import { MAX_EDITED_BYTES, unwritableReason } from "../../write/write-verified.ts"
import { decodeText, encodeText } from "../../text/text-encoding.ts"
import type { DecodedText } from "../../text/text-encoding.ts"
import { applyHunk } from "./apply-hunk.ts"
import type { Hunk, PatchOperation } from "./parse-patch.ts"

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
      if (found.ok) steps.push(found.value)
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
  const target = operation.kind === "move" ? ` -> '${operation.to}'` : ""
  return `${operation.kind.toUpperCase()} '${operation.path}'${target}`
}

async function planOperation(
  operation: PatchOperation,
  label: string,
  state: PlanState,
): Promise<Result<PlannedStep, readonly string[]>> {
  const given = operation.kind === "move" ? [operation.path, operation.to] : [operation.path]
  const refused = given.flatMap((path) => refusal(path, state) ?? [])
  if (refused.length > 0) return fail(refused)
  const path = state.files.resolve(operation.path)
  const file = await expectedFile(path, state)
  switch (operation.kind) {
    case "add": {
      if (file.kind !== "absent") return fail(["the file already exists; use Update File"])
      const after = scrubSurrogates(operation.lines.map((line) => `${line}\n`).join(""))
      const decoded = decodeText(new TextEncoder().encode(after))
      state.expected.set(path, { kind: "text", decoded })
      return ok({ kind: "write", label, path, bytes: new TextEncoder().encode(after), before: undefined, after })
    }
    case "delete": {
      if (file.kind === "absent") return fail(["the file does not exist"])
      const text = await textOf(file, operation.path, state)
      state.expected.set(path, { kind: "absent" })
      return ok({ kind: "remove", label, path, before: text.ok ? text.value.text : undefined })
    }
    case "move": {
      if (file.kind === "absent") return fail([`${operation.path} does not exist`])
      if (state.holdsSecrets(path)) return fail([`${operation.path} holds secrets and is not moved by file tools`])
      const to = state.files.resolve(operation.to)
      if ((await expectedFile(to, state)).kind !== "absent") return fail([`${operation.to} already exists`])
      state.expected.set(path, { kind: "absent" })
      state.expected.set(to, file)
      return ok({ kind: "move", label, path, to })
    }
    case "update": {
      if (file.kind === "absent") return fail(["the file does not exist; use Add File"])
      const text = await textOf(file, operation.path, state)
      if (!text.ok) return fail([text.error])
      const after = applyHunks(text.value.text, operation.hunks)
      if (!after.ok) return after
      const { format } = text.value
      state.expected.set(path, { kind: "text", decoded: { text: after.value, format, valid: true } })
      const bytes = encodeText(after.value, format)
      return ok({ kind: "write", label, path, bytes, before: text.value.text, after: after.value })
    }
    default:
      return assertNever(operation)
  }
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
  let current = text
  for (const [index, hunk] of hunks.entries()) {
    const applied = applyHunk(current, hunk)
    if (applied.ok) current = scrubSurrogates(applied.value)
    else problems.push(hunks.length === 1 ? applied.error : `hunk ${index + 1} of ${hunks.length}: ${applied.error}`)
  }
  return problems.length === 0 ? ok(current) : fail(problems)
}

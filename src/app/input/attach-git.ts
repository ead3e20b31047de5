import { assertNever } from "../../base/assert-never.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { ellipsize } from "../../base/text.ts"
import type { CallToolPort } from "../../toolkit/ports/call-tool.ts"
import { callForFields, fenced } from "./attachment.ts"
import type { Attachment, ReferenceTools } from "./attachment.ts"

export interface GitContext {
  readonly calls: Pick<CallToolPort, "call">
  readonly tools: ReferenceTools
  /** The directory of the session. A command of the model may have changed that of the shell. */
  readonly root: string
}

type GitReference = { readonly kind: "diff" | "staged" } | { readonly kind: "git"; readonly commits: number }

const TIMEOUT_SECONDS = 30
const MAX_ERROR_CHARS = 300

export async function attachGit(reference: GitReference, context: GitContext): Promise<Result<Attachment>> {
  const { shell } = context.tools
  if (shell === undefined) return fail("this session cannot run commands")
  const args = { command: commandOf(reference), timeout: TIMEOUT_SECONDS, workdir: context.root }
  const ran = await callForFields(context.calls, shell, args)
  if (!ran.ok) return fail(ran.error.reason)
  const { output, exit_code: code } = ran.value
  const text = typeof output === "string" ? output : ""
  if (code !== 0) return fail(`git failed: ${ellipsize(text.trim(), MAX_ERROR_CHARS)}`)
  return text.trim() === "" ? fail(NOTHING[reference.kind]) : ok({ body: fenced(text, "diff") })
}

const NOTHING: Readonly<Record<GitReference["kind"], string>> = {
  diff: "there are no changes that are not staged",
  staged: "nothing is staged",
  git: "there are no commits",
}

/** No program of the project's or the user's settings is started to show a difference. */
function commandOf(reference: GitReference): string {
  const how = "--no-color --no-ext-diff --no-textconv"
  switch (reference.kind) {
    case "diff":
      return `git --no-pager diff ${how}`
    case "staged":
      return `git --no-pager diff --staged ${how}`
    case "git":
      return `git --no-pager log -${reference.commits} -p ${how}`
    default:
      return assertNever(reference)
  }
}

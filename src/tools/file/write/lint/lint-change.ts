import { extname } from "node:path"

import { errorMessage } from "../../../../base/system-error.ts"
import { takeCodePoints } from "../../../../base/text.ts"
import type { ToolContext } from "../../../../toolkit/tool.ts"
import { checkWithCommand } from "./command-checks.ts"
import { checkData } from "./data-checks.ts"
import { checkScript } from "./script-check.ts"
import type { CheckResult, SyntaxCheck } from "./syntax-check.ts"

/** The syntax check in a result. */
export interface LintReport {
  readonly status: "ok" | "error" | "skipped"
  readonly output?: string
  readonly message?: string
}

export interface WrittenText {
  readonly path: string
  /** Undefined for a new file, or one that could not be read as text. */
  readonly before: string | undefined
  readonly after: string
}

const MAX_LINTED_CHARS = 2_000_000
const MAX_OUTPUT_CHARS = 2000

/**
 * Checks the syntax of a changed file. Reports only errors that the file did not have before. Undefined for files without a
 * checkable syntax.
 */
export async function lintChange(file: WrittenText, context: ToolContext): Promise<LintReport | undefined> {
  const check = CHECKS[extname(file.path).toLowerCase()]
  if (check === undefined) return undefined
  if (file.after.length > MAX_LINTED_CHARS) return { status: "skipped", message: "the file is too large to check" }
  const after = await runCheck(check, file.after, { path: file.path, context })
  if (after.kind === "skipped") return { status: "skipped", message: after.why }
  if (after.kind === "ok") return { status: "ok" }
  const before =
    file.before === undefined ? undefined : await runCheck(check, file.before, { path: file.path, context })
  const known = new Set(before?.kind === "problems" ? before.problems.map(withoutPlace) : [])
  const fresh = after.problems.filter((problem) => !known.has(withoutPlace(problem)))
  if (fresh.length === 0) {
    return { status: "ok", message: "the syntax errors of this file existed before this change" }
  }
  return {
    status: "error",
    output: takeCodePoints(context.redact(fresh.join("\n"), { codeFile: true }), MAX_OUTPUT_CHARS),
  }
}

async function runCheck(
  check: SyntaxCheck,
  text: string,
  file: { readonly path: string; readonly context: ToolContext },
): Promise<CheckResult> {
  try {
    return await check(text, file)
  } catch (error) {
    return { kind: "skipped", why: `the syntax check failed: ${errorMessage(error)}` }
  }
}

/** Compares errors without line numbers, which shift with changes above them. */
function withoutPlace(problem: string): string {
  return problem.replaceAll(/\d+/g, "#")
}

const CHECKS: Readonly<Record<string, SyntaxCheck>> = {
  ".json": checkData,
  ".yaml": checkData,
  ".yml": checkData,
  ".toml": checkData,
  ".js": checkScript,
  ".mjs": checkScript,
  ".cjs": checkScript,
  ".ts": checkScript,
  ".mts": checkScript,
  ".cts": checkScript,
  ".py": checkWithCommand,
  ".go": checkWithCommand,
  ".rs": checkWithCommand,
}

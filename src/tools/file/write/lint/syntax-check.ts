import type { ToolContext } from "../../../../toolkit/tool.ts"

/** Syntax errors of a text, each on one line with its position. A check that throws could not run; that is no error in the text. */
export type SyntaxCheck = (
  text: string,
  file: { readonly path: string; readonly context: ToolContext },
) => Promise<CheckResult>

export type CheckResult =
  | { readonly kind: "ok" }
  | { readonly kind: "problems"; readonly problems: readonly string[] }
  | { readonly kind: "skipped"; readonly why: string }

export function problems(found: readonly string[]): CheckResult {
  return found.length === 0 ? { kind: "ok" } : { kind: "problems", problems: found }
}

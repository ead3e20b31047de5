import { isRecord, parseJson } from "../../base/json.ts"
import { takeCodePoints } from "../../base/text.ts"
import { digestChars, digestValue } from "../../toolkit/digest-line.ts"
import type { DigestedCall } from "../../toolkit/tool.ts"
import { unwrapUntrusted } from "../../toolkit/untrusted.ts"

const SHOWN_ARGUMENTS = 2
const MAX_VALUE_CHARS = 40

/**
 * The line that replaces an old result. The line of a tool says what the call did, so that only a call that succeeded gets it. A result that was
 * replaced before keeps its line.
 */
export function digestCall(call: DigestedCall, ofTool?: (call: DigestedCall) => string): string {
  if (isDigest(call)) return call.result
  const problem = callProblem(call)
  if (problem !== undefined) return `${[`[${call.tool}]`, ...shownArguments(call)].join(" ")} -> ${problem}`
  return ofTool?.(call) ?? generalDigest(call)
}

/** The default digest, for tools that declare none. */
export function generalDigest(call: DigestedCall): string {
  return [`[${call.tool}]`, ...shownArguments(call), `(${digestChars(call.result)} chars result)`].join(" ")
}

function shownArguments({ args }: DigestedCall): readonly string[] {
  return Object.entries(args)
    .slice(0, SHOWN_ARGUMENTS)
    .map(([name, value]) => `${name}=${takeCodePoints(digestValue(value), MAX_VALUE_CHARS)}`)
}

/**
 * Why a call did not do what it says, in words of Hermes; undefined when it succeeded. The text of an error is not quoted: it may come from outside,
 * and a digest is not marked as such.
 */
export function callProblem(call: DigestedCall): string | undefined {
  if (call.result === "") return PROBLEMS.unknown
  if (isDigest(call)) return DIGESTED_PROBLEM.exec(call.result)?.[1]
  return resultProblem(call.result)
}

/** The same for the text of a result. */
export function resultProblem(result: string): string | undefined {
  const text = unwrapUntrusted(result)
  // Only some results have one, and parsing all of a history takes long.
  if (!text.startsWith("{") || !PROBLEM_FIELD.test(text)) return undefined
  const value = parseJson(text)
  if (!isRecord(value)) return text.startsWith('{"error":"') ? PROBLEMS.failed : undefined
  const { error, status, exit_code: code, results, success } = value
  const hasFailed = (typeof error === "string" && error !== "") || success === false
  if (!hasFailed) return hasOnlyFailures(results) ? PROBLEMS.failed : undefined
  if (status === "blocked" || status === "skipped" || status === "interrupted" || status === "unknown")
    return PROBLEMS[status]
  return typeof code === "number" && code > 0 ? `${PROBLEMS.failed} with exit code ${code}` : PROBLEMS.failed
}

const PROBLEM_FIELD = /"error":\s*"|"success":\s*false/u

const PROBLEMS = {
  blocked: "not run: it was not allowed",
  skipped: "not run: it was skipped",
  interrupted: "interrupted",
  unknown: "outcome unknown",
  failed: "failed",
} as const

const DIGESTED_PROBLEM = new RegExp(` -> ((?:${Object.values(PROBLEMS).join("|")})(?: with exit code \\d+)?)$`, "u")

/** Of several sub-agents. */
function hasOnlyFailures(results: unknown): boolean {
  if (!Array.isArray(results) || results.length === 0) return false
  return results.every((one: unknown) => isRecord(one) && typeof one["error"] === "string" && one["error"] !== "")
}

function isDigest({ tool, result }: DigestedCall): boolean {
  return result.startsWith(`[${tool}] `) && !result.includes("\n")
}

/** The input of a digest function. Arguments that are not valid JSON are left out, and so are notes below the result. */
export function digestedCall(
  tool: string,
  { args, result }: { readonly args: string; readonly result: string },
): DigestedCall {
  const parsed = parseJson(args)
  return { tool, args: isRecord(parsed) ? parsed : {}, result: withoutNotes(result) }
}

/** A result is one line of JSON; notes of Hermes and messages of the user follow after an empty line. */
function withoutNotes(result: string): string {
  const end = result.startsWith("{") ? result.indexOf("\n\n") : -1
  return end === -1 ? result : result.slice(0, end)
}

import { isRecord, parseJson } from "../base/json.ts"
import { repairArguments } from "./argument-repair.ts"

/** Parsed arguments of a model. `truncated` and `invalid` arguments cannot be repaired without inventing content. */
export type ReadArguments =
  | { readonly kind: "object"; readonly args: Readonly<Record<string, unknown>> }
  | { readonly kind: "truncated" | "invalid" }

export function readArguments(raw: string): ReadArguments {
  const direct = parseJson(raw)
  if (isRecord(direct)) return { kind: "object", args: direct }
  const text = raw.trim()
  const repaired = repairArguments(text)
  const parsed = parseJson(repaired)
  if (parsed === null) return { kind: "object", args: {} }
  if (isRecord(parsed) && (repaired !== "{}" || EMPTY_ARGUMENTS.test(text))) return { kind: "object", args: parsed }
  return { kind: /[}\]]$/u.test(text) ? "invalid" : "truncated" }
}

/** Text that means an empty object. Any other text that the repair turned into `{}` must not run. */
const EMPTY_ARGUMENTS = /^(?:None|\{[\s,}\]]*)?$/u

import { isRecord, parseJson } from "../base/json.ts"
import { repairArguments } from "./argument-repair.ts"

/** What a model wrote as arguments. `truncated` and `invalid` cannot be mended without inventing content. */
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
  if (isRecord(parsed) && (repaired !== "{}" || HOLDS_NOTHING.test(text))) return { kind: "object", args: parsed }
  return { kind: /[}\]]$/u.test(text) ? "invalid" : "truncated" }
}

/** Text that stands for an empty object. Anything else was given up by the repair and must not run as if it were one. */
const HOLDS_NOTHING = /^(?:None|\{[\s,}\]]*)?$/u

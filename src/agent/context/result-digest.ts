import { isRecord, parseJson } from "../../base/json.ts"
import { takeCodePoints } from "../../base/text.ts"
import { digestChars, digestValue } from "../../toolkit/digest-line.ts"
import type { DigestedCall } from "../../toolkit/tool.ts"

const SHOWN_ARGUMENTS = 2
const MAX_VALUE_CHARS = 40

/** The default digest, for tools that declare none. */
export function generalDigest({ tool, args, result }: DigestedCall): string {
  const shown = Object.entries(args)
    .slice(0, SHOWN_ARGUMENTS)
    .map(([name, value]) => `${name}=${takeCodePoints(digestValue(value), MAX_VALUE_CHARS)}`)
  return [`[${tool}]`, ...shown, `(${digestChars(result)} chars result)`].join(" ")
}

/** The input of a digest function. Arguments that are not valid JSON are left out. */
export function digestedCall(
  tool: string,
  { args, result }: { readonly args: string; readonly result: string },
): DigestedCall {
  const parsed = parseJson(args)
  return { tool, args: isRecord(parsed) ? parsed : {}, result }
}

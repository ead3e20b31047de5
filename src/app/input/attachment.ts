import type { CallToolPort } from "../../toolkit/ports/call-tool.ts"
import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"

/** What a reference attaches to the message: the text for the model, ready to be sent. */
export interface Attachment {
  readonly body: string
}

/** The names that the session has for the tools with which references are read; undefined where it does not have them. */
export interface ReferenceTools {
  readonly shell: string | undefined
  readonly fileReader: string | undefined
  readonly fileSearch: string | undefined
}

/** The fields of the result of a call. The error is a clause that says why there is none. */
export async function callForFields(
  calls: Pick<CallToolPort, "call">,
  tool: string,
  args: Readonly<Record<string, unknown>>,
): Promise<Result<Readonly<Record<string, unknown>>, CallFailure>> {
  const { outcome, text, refusal } = await calls.call(tool, args)
  const parsed = parseJson(text)
  const fields = isRecord(parsed) ? parsed : { text }
  const error = stringField(fields, "error") ?? ""
  if (outcome === "ok" && error === "") return ok(fields)
  if (refusal !== undefined) return fail({ reason: refusal.reason, isDeniedByUser: refusal.by === "user", fields })
  return fail({ reason: error === "" ? `the call was ${outcome}` : error, isDeniedByUser: false, fields })
}

export interface CallFailure {
  readonly reason: string
  readonly isDeniedByUser: boolean
  readonly fields: Readonly<Record<string, unknown>>
}

/** Text in a code block that nothing inside it can close. */
export function fenced(text: string, language = ""): string {
  const longest = Math.max(0, ...Array.from(text.matchAll(/`{3,}/gu), ([marks]) => marks.length))
  const fence = "`".repeat(Math.max(3, longest + 1))
  return `${fence}${language}\n${text}${text.endsWith("\n") || text === "" ? "" : "\n"}${fence}`
}

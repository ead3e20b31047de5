import { isRecord, parseJson } from "../../base/json.ts"

/** A call of another program on its way to a tool. */
export interface ServedCall {
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  readonly signal: AbortSignal
  /** Receives what the tool reports while it runs. Absent: the host wants no progress. */
  readonly onProgress?: (text: string) => void
  /** Asks the user of the host. Absent: the host cannot ask, so what needs approval is denied. */
  readonly ask?: AskHost
}

/** Resolves with the chosen answer, or with undefined when the user declines or the signal aborts. Never rejects. */
export type AskHost = (question: HostQuestion, signal: AbortSignal) => Promise<string | undefined>

export interface HostQuestion {
  readonly message: string
  readonly choices: readonly string[]
}

/** The result of a call as JSON; a failure is `{ error }`. */
export interface ServedResult {
  readonly text: string
  readonly outcome: "ok" | "error" | "refused"
}

/** Judges and runs a call. Never rejects. */
export type RunServedCall = (call: ServedCall) => Promise<ServedResult>

/** The sentence of a failed call. */
export function failureText({ text }: ServedResult): string {
  const result = parseJson(text)
  return isRecord(result) && typeof result["error"] === "string" ? result["error"] : text
}

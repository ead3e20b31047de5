/** What a provider replied. `text` continues a sentence that begins with its address. */
export interface ProbeResult {
  readonly level: "ok" | "warning" | "failure"
  readonly text: string
}

const PROBE_TIMEOUT_MS = 10_000

/** Requests the model list of a provider, which costs nothing. Ends within ten seconds. */
export async function probeProvider(endpoint: {
  readonly address: string
  readonly key: string | undefined
  readonly signal: AbortSignal
}): Promise<ProbeResult> {
  const signal = AbortSignal.any([endpoint.signal, AbortSignal.timeout(PROBE_TIMEOUT_MS)])
  try {
    const headers: Record<string, string> =
      endpoint.key === undefined ? {} : { authorization: `Bearer ${endpoint.key}` }
    const response = await fetch(`${endpoint.address}/models`, { headers, signal, redirect: "manual" })
    await response.body?.cancel()
    return describeStatus(response.status)
  } catch (error) {
    return { level: "warning", text: `does not answer (${reason(error)})` }
  }
}

function describeStatus(status: number): ProbeResult {
  if (status >= 200 && status < 300) return { level: "ok", text: "answers" }
  if (status === 401 || status === 403) return { level: "failure", text: "refuses the key" }
  if (status === 402) return { level: "failure", text: "has no credit left for this key" }
  if (status === 429) return { level: "warning", text: "limits the rate at the moment" }
  return { level: "warning", text: `answers with code ${status}` }
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return "unknown reason"
  if (error.name === "TimeoutError") return "no answer within 10 seconds"
  const { cause } = error
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : error.message
}

import { isRecord } from "../../base/json.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { FinishReason } from "../../protocol/message.ts"

/** Scripted replies of the demo model, one step per request. */
export type DemoScript = readonly DemoStep[]

export interface DemoStep {
  readonly say: string
  readonly think: string
  readonly calls: readonly DemoCall[]
  readonly fault?: DemoFault
  readonly finish?: FinishReason
  /** The delay before the reply; for a rate limit, the requested wait. */
  readonly waitMs?: number
}

interface DemoCall {
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
}

const FAULTS = ["rate-limit", "overflow", "malformed-json", "disconnect", "empty"] as const
export type DemoFault = (typeof FAULTS)[number]

const FINISHES = ["stop", "tool_calls", "length", "content_filter", "incomplete"] as const satisfies FinishReason[]
const FIELDS = new Set(["say", "think", "call", "fault", "finish", "wait_ms"])

/** Validates a parsed script file. The error refers to the file as "it"; the caller adds its name. */
export function parseDemoScript(value: unknown): Result<DemoScript> {
  if (!Array.isArray(value)) return fail("it must be a list of steps")
  const steps: DemoStep[] = []
  for (const [index, item] of value.entries()) {
    const step = parseStep(item)
    if (!step.ok) return fail(`step ${index + 1} ${step.error}`)
    steps.push(step.value)
  }
  return steps.length === 0 ? fail("it has no steps") : ok(steps)
}

function parseStep(value: unknown): Result<DemoStep> {
  if (!isRecord(value)) return fail("must be an object with say, think, call, fault, finish or wait_ms")
  const unknown = Object.keys(value).find((key) => !FIELDS.has(key))
  if (unknown !== undefined)
    return fail(`has an unknown field "${unknown}"; the known fields are ${[...FIELDS].join(", ")}`)
  const { say = "", think = "", finish, fault, wait_ms: waitMs } = value
  if (typeof say !== "string") return fail("needs text in say")
  if (typeof think !== "string") return fail("needs text in think")
  const calls = parseCalls(value["call"])
  if (!calls.ok) return calls
  const knownFault = FAULTS.find((name) => name === fault)
  if (fault !== undefined && knownFault === undefined)
    return fail(`has an unknown fault; the known faults are ${FAULTS.join(", ")}`)
  const knownFinish = FINISHES.find((name) => name === finish)
  if (finish !== undefined && knownFinish === undefined)
    return fail(`has an unknown finish; the known values are ${FINISHES.join(", ")}`)
  if (waitMs !== undefined && (typeof waitMs !== "number" || !Number.isFinite(waitMs) || waitMs < 0)) {
    return fail("needs a number of milliseconds in wait_ms")
  }
  const step: DemoStep = {
    say,
    think,
    calls: calls.value,
    ...(knownFault === undefined ? {} : { fault: knownFault }),
    ...(knownFinish === undefined ? {} : { finish: knownFinish }),
    ...(waitMs === undefined ? {} : { waitMs }),
  }
  const problem = contradiction(step)
  return problem === undefined ? ok(step) : fail(problem)
}

function parseCalls(value: unknown): Result<readonly DemoCall[]> {
  if (value === undefined) return ok([])
  const calls: DemoCall[] = []
  for (const item of Array.isArray(value) ? value : [value]) {
    const tool: unknown = isRecord(item) ? item["tool"] : undefined
    const args: unknown = isRecord(item) ? (item["args"] ?? {}) : undefined
    if (typeof tool !== "string" || tool === "" || !isRecord(args)) {
      return fail("needs a call like { tool: read_file, args: { path: a.txt } }, or a list of them")
    }
    calls.push({ tool, args })
  }
  return ok(calls)
}

function contradiction(step: DemoStep): string | undefined {
  const isEmpty = step.say === "" && step.calls.length === 0
  if (step.fault === "malformed-json" && step.calls.length === 0) return "needs a call whose JSON can be malformed"
  if (step.fault === "disconnect" && isEmpty) return "needs say or call, so that there is something to truncate"
  if ((step.fault === undefined || step.fault === "rate-limit") && isEmpty) {
    return "needs say or call; use fault: empty for a reply without either"
  }
  return undefined
}

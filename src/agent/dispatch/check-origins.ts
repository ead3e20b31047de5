import type { Walls } from "../../policy/commands/command-verdict.ts"
import type { Decision } from "../../policy/policy-request.ts"
import type { Sink } from "../../policy/provenance/sink.ts"
import type { DispatchSession } from "./dispatch-session.ts"
import type { JudgedCall } from "./policy-request.ts"
import type { ReadyCall } from "./prepare.ts"

interface OriginCheck {
  readonly prepared: ReadyCall
  readonly judged: JudgedCall
}

/**
 * Asks about a call that reaches the network, other people or later sessions, when text from outside may have led to it and the user did
 * not name what it reaches. Only ever makes a decision stricter.
 */
export async function checkOrigins(decision: Decision, call: OriginCheck, session: DispatchSession): Promise<Decision> {
  const { origins, permissions } = session
  // The auxiliary model may turn a denial of the auto profile into an approval, but not for a call that reaches a sink.
  const isFinal = decision.kind === "deny" && decision.classifier === undefined
  if (origins === undefined || isFinal || !mayReachSink(call.judged)) return decision
  // The user has given up all questions.
  if (permissions.rules().profile.default === "allow") return decision
  const { callSinks, needsWrittenHosts } = await import("../../policy/provenance/call-sinks.ts")
  const { prepared, judged } = call
  const { role } = prepared.entry
  const content = { request: judged.request, args: prepared.parsed.args, ...(role === undefined ? {} : { role }) }
  const written = needsWrittenHosts(judged.request) ? await origins() : undefined
  const sinks = callSinks(content, (fileName) => written?.hostsWrittenTo(fileName) ?? [])
  const reasons = sinks.length === 0 ? [] : await reasonsFor(sinks, judged, { ...session, origins })
  if (reasons.length === 0) return decision
  const reason = `text from outside may have led to it (${reasons.join("; ")})`
  if (decision.kind === "allow")
    return { kind: "ask", layer: "provenance", rule: "text from outside", reason, reasons, keys: [], fresh: true }
  const { classifier: _classifier, ...asked } = decision
  return { ...asked, reason: `${asked.reason}; ${reason}`, reasons: [...asked.reasons, ...reasons], fresh: true }
}

/** Most calls read a file or list a directory; nothing is loaded for them. */
function mayReachSink({ request: { access, subjects } }: JudgedCall): boolean {
  return access === "read" ? subjects.some(({ kind }) => kind === "url" || kind === "command") : access !== "agent"
}

async function reasonsFor(
  sinks: readonly Sink[],
  { request }: JudgedCall,
  {
    origins,
    ...session
  }: Required<Pick<DispatchSession, "origins">> & Pick<DispatchSession, "walls" | "scriptWalls" | "permissions">,
): Promise<readonly string[]> {
  const { passesWalls, suspectReasons } = await import("../../policy/provenance/judge-sinks.ts")
  const known = await origins()
  const reasons = suspectReasons(sinks, known)
  if (reasons.length === 0 || request.commands.length === 0) return reasons
  // Opening the sandbox takes time; it is opened only for a command that would be asked about.
  const walls = request.isScript === true ? (session.scriptWalls ?? session.walls) : session.walls
  const found = (await walls?.()) ?? request.walls
  // In plan mode commands have no network.
  const isPlan = session.permissions.rules().profile.default === "plan"
  const confined: Walls = isPlan && found.kind === "sandbox" ? { ...found, network: "off" } : found
  return suspectReasons(
    sinks.filter((sink) => passesWalls(sink, confined)),
    known,
  )
}

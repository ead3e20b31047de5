import type { Logger } from "../../base/logger.ts"
import type { AgentEvent } from "../../protocol/events.ts"
import { promptTokens } from "../../protocol/usage.ts"
import { NOT_SENT } from "../input/not-sent.ts"

/** Logs what a run did and how long it took, without what was said, the arguments of calls and their results: those of other conversations are private. */
export function logEvent(log: Logger, event: AgentEvent): void {
  switch (event.type) {
    case "run-start":
      log.info(
        `run ${event.runId} starts: ${event.model} (${event.provider}), permissions ${event.permissionProfile}, in ${event.cwd}`,
      )
      return
    case "tool-end":
      log.info(`${event.call.name} ${event.outcome} after ${Math.round(event.durationMs)} ms${detailsOf(event)}`)
      return
    case "usage":
      log.info(`model call: ${promptTokens(event.usage)} tokens in, ${event.usage.output} out`)
      return
    case "approval-request":
      log.info(`approval asked for ${event.call.name}: ${event.rule}`)
      return
    case "status":
      if (event.kind === "retry" || (event.kind === "warning" && event.quotesInput !== true)) log.warning(event.text)
      if (event.kind === "answered") {
        const choice = event.question === "approval" ? `: ${event.choice}` : ""
        log.info(`${event.question} ${event.requestId} answered${choice} by ${event.by}`)
      }
      return
    case "run-end": {
      const { result } = event
      const line = `run ${event.runId} ends: ${event.outcome} (${result.exitReason}), ${result.apiCalls} model calls, ${result.toolCalls} tool calls, ${Math.round(result.durationMs)} ms`
      if (result.error === undefined) log.info(line)
      // Why a message was not sent: the reason quotes it.
      else log.error(result.error.code === NOT_SENT ? line : `${line}: ${result.error.message}`)
      return
    }
    default:
      // The store keeps the text of deltas and progress.
      return
  }
}

function detailsOf({ exitCode, failureWord, truncated }: Extract<AgentEvent, { type: "tool-end" }>): string {
  return [
    ...(exitCode === undefined ? [] : [`, exit code ${exitCode}`]),
    ...(failureWord === undefined ? [] : [`, ${failureWord}`]),
    ...(truncated ? [", long result"] : []),
  ].join("")
}

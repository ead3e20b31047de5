import type { Logger } from "../../base/logger.ts"
import type { AgentEvent } from "../../protocol/events.ts"
import { promptTokens } from "../../protocol/usage.ts"

/** Logs what a run did and how long it took. */
export function logEvent(log: Logger, event: AgentEvent): void {
  switch (event.type) {
    case "run-start":
      log.info(
        `run ${event.runId} starts: ${event.model} (${event.provider}), permissions ${event.permissionProfile}, in ${event.cwd}`,
      )
      return
    case "tool-end":
      log.info(`${event.call.name} ${event.outcome} after ${Math.round(event.durationMs)} ms: ${event.summary}`)
      return
    case "usage":
      log.info(`model call: ${promptTokens(event.usage)} tokens in, ${event.usage.output} out`)
      return
    case "approval-request":
      log.info(`approval asked for ${event.call.name}: ${event.rule}`)
      return
    case "status":
      if (event.kind === "retry" || event.kind === "warning") log.warning(event.text)
      if (event.kind === "answered")
        log.info(`${event.question} ${event.requestId} answered: ${event.choice} by ${event.by}`)
      return
    case "run-end": {
      const { result } = event
      const line = `run ${event.runId} ends: ${event.outcome} (${result.exitReason}), ${result.apiCalls} model calls, ${result.toolCalls} tool calls, ${Math.round(result.durationMs)} ms`
      if (result.error === undefined) log.info(line)
      else log.error(`${line}: ${result.error.message}`)
      return
    }
    default:
      // The store keeps the text of deltas and progress.
      return
  }
}

import { mkdtempSync, readdirSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import type { AgentEvent } from "../../../src/protocol/events.ts"
import { contentText } from "../../../src/protocol/message.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembleOptions } from "../assembled-app.ts"

export interface ScriptResult {
  readonly status: string
  readonly output: string
  readonly error?: string
  readonly tool_calls_made: number
  readonly duration_seconds: number
}

export interface ScriptCall {
  readonly code: string
  readonly language?: string
  readonly timeout?: number
}

export interface ScriptSession extends AssembleOptions {
  /** Without it, scripts run in the sandbox where there is one. */
  readonly sandbox?: "off"
  readonly profile?: string
  readonly attended?: boolean
  readonly on?: (event: AgentEvent) => void
}

/** Runs one script in a session and returns its result, the events, and the whole request that contained the result. */
export async function runScript(call: ScriptCall, { sandbox, profile, on, ...options }: ScriptSession = {}) {
  await using assembled = await assembleApp([callsTool("execute_code", call, { id: "outer" }), says("Done.")], {
    ...options,
    config: `${options.config ?? ""}${sandbox === undefined ? "" : "terminal:\n  sandbox: off\n"}`,
  })
  const session = await assembled.open({
    attended: options.attended ?? false,
    permissionProfile: profile ?? (sandbox === undefined ? "default" : "full-auto"),
  })
  const { events, end } = await runToEnd(session, "go", on)
  await session.close("test_end")
  await assembled.app.close()
  // The request may contain a shortened form.
  const answer = end.result.messages.find((message) => message.role === "tool")
  return {
    result: JSON.parse(contentText(answer?.content ?? "null").split("\n\n[")[0] ?? "") as ScriptResult,
    events,
    end,
    request: assembled.model.requests[1]?.rawBody ?? "",
    home: assembled.home,
    log: readFileSync(join(assembled.home.path, "logs/agent.log"), "utf8"),
  }
}

/** Each test file has a directory of its own for temporary files, so that it finds what its own scripts left. */
export const TEMPORARY = mkdtempSync(join(tmpdir(), "scripts-"))
process.env["TMPDIR"] = TEMPORARY

/** In the command line of a process that a script starts. */
export const LEFT_BEHIND = `left-behind-by-${process.pid}`

/** What scripts could leave behind on this machine. */
export function leftovers(): readonly string[] {
  const directories = readdirSync(TEMPORARY).filter((name) => name.startsWith("hermes_sandbox_"))
  const processes = readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")
        return line.includes(`${TEMPORARY}/hermes_sandbox_`) || line.includes(LEFT_BEHIND) ? [line] : []
      } catch {
        // It has exited in the meantime.
        return []
      }
    })
  return [...directories, ...processes]
}

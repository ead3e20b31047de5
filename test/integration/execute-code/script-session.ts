import { randomUUID } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { afterAll } from "vitest"

import type { Session } from "../../../src/app/session/session.ts"
import type { AgentEvent } from "../../../src/protocol/events.ts"
import { contentText } from "../../../src/protocol/message.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp, AssembleOptions } from "../assembled-app.ts"

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
  /** Scripts of all tests with these options run in one session: for workspaces that take seconds to open. */
  readonly sharesSession?: true
}

/** Apps of this test file by their options: starting one takes longer than most scripts. */
const apps = new Map<string, Promise<AssembledApp>>()
const sessions = new Map<string, Promise<Session>>()

/** Closes what the scripts of a file have shared. */
export async function closeScriptSessions(): Promise<void> {
  const open = await Promise.all(apps.values())
  apps.clear()
  sessions.clear()
  for (const app of open) await app[Symbol.asyncDispose]()
}
afterAll(closeScriptSessions)

/** Runs one script in a session and returns its result, the events, and the whole request that contained the result. */
export async function runScript(call: ScriptCall, options: ScriptSession = {}) {
  const { sandbox, profile, attended = false, on, sharesSession, ...assembly } = options
  const config = `${assembly.config ?? ""}${sandbox === undefined ? "" : "terminal:\n  sandbox: off\n"}`
  const key = JSON.stringify([assembly, config])
  const assembled = await stored(apps, key, async () => await assembleApp([], { ...assembly, config }))
  const open = async (): Promise<Session> =>
    await assembled.open({
      attended,
      permissionProfile: profile ?? (sandbox === undefined ? "default" : "full-auto"),
    })
  const session = sharesSession === true ? await stored(sessions, `${key} ${profile} ${attended}`, open) : await open()
  const id = sharesSession === true ? randomUUID() : "outer"
  assembled.model.push(callsTool("execute_code", call, { id }), says("Done."))
  const logged = logOf(assembled).length
  const { events, end } = await runToEnd(session, "go", on)
  if (sharesSession !== true) await session.close("test_end")
  // The request may contain a shortened form.
  const answer = end.result.messages.findLast((message) => message.role === "tool")
  return {
    result: JSON.parse(contentText(answer?.content ?? "null").split("\n\n[")[0] ?? "") as ScriptResult,
    events,
    end,
    request: assembled.model.requests.at(-1)?.rawBody ?? "",
    home: assembled.home,
    log: logOf(assembled).slice(logged),
  }
}

async function stored<T>(map: Map<string, Promise<T>>, key: string, create: () => Promise<T>): Promise<T> {
  const value = map.get(key) ?? create()
  map.set(key, value)
  return await value
}

function logOf({ home }: AssembledApp): string {
  try {
    return readFileSync(join(home.path, "logs/agent.log"), "utf8")
  } catch {
    // Nothing was logged yet.
    return ""
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

import { readdirSync, readFileSync } from "node:fs"

import type { OpenSessionOptions } from "../../../src/app/session/session-options.ts"
import type { Session } from "../../../src/app/session/session.ts"
import { isRecord, parseJson } from "../../../src/base/json.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { runToEnd } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"

/** A session whose model makes the tool calls that the test asks for. */
export interface ToolSession extends AsyncDisposable {
  readonly session: Session
  /** The model makes one tool call in its own turn. Returns the result as the model reads it. */
  call(tool: string, input: unknown): Promise<ToolReply>
  /** Like `call`, but returns only the fields of the result. */
  fields(tool: string, input: unknown): Promise<Readonly<Record<string, unknown>>>
}

/** A tool result as the model reads it: fields, and below them the notes that were added. */
export interface ToolReply {
  readonly text: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly notes: string
}

/** Keeps auxiliary model calls from using up scripted turns. */
export const QUIET = "memory:\n  nudge_interval: 0\n  flush_before_compress: local\n"

/** Uses the permission profile full-auto, so that no call needs approval. */
export async function openToolSession(
  app: AssembledApp,
  options: Partial<OpenSessionOptions> & { readonly attended?: boolean } = {},
): Promise<ToolSession> {
  const session = await app.open({ permissionProfile: "full-auto", ...options })
  const call = async (tool: string, input: unknown): Promise<ToolReply> => {
    app.model.push(callsTool(tool, input), says("Done."))
    await runToEnd(session, `use ${tool}`)
    const [result] = app.model.toolResults(app.model.requests.length - 1)
    if (result === undefined) throw new Error(`the model received no result of ${tool}`)
    return parseReply(result.text)
  }
  return {
    session,
    call,
    fields: async (tool, input) => (await call(tool, input)).fields,
    [Symbol.asyncDispose]: () => session.close("test_end"),
  }
}

function parseReply(text: string): ToolReply {
  const [json = "", ...notes] = text.split("\n\n")
  const parsed = parseJson(json)
  return { text, fields: isRecord(parsed) ? parsed : {}, notes: notes.join("\n\n") }
}

/** Processes on this machine, including those inside containers and sandboxes, with exactly this command line. */
export function processesRunning(command: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .flatMap((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0").join(" ").trim() === command
          ? [Number(name)]
          : []
      } catch {
        // It has just exited.
        return []
      }
    })
}

import { readdirSync, readFileSync } from "node:fs"

import type { OpenSessionOptions } from "../../../src/app/session-options.ts"
import type { Session } from "../../../src/app/session.ts"
import { isRecord, parseJson } from "../../../src/base/json.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { runToEnd } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"

/** A session whose model does what the test says. */
export interface Hands extends AsyncDisposable {
  readonly session: Session
  /** The model makes one call in a turn of its own; what it reads of it comes back. */
  call(tool: string, input: unknown): Promise<Reading>
  /** The same, when only the fields of the answer matter. */
  fields(tool: string, input: unknown): Promise<Readonly<Record<string, unknown>>>
}

/** A tool result as the model reads it: fields, and below them what was added. */
export interface Reading {
  readonly text: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly notes: string
}

/** No side call of the product takes a turn of the script. */
export const QUIET = "memory:\n  nudge_interval: 0\n"

/** Profile full-auto: nobody has to be asked. */
export async function openHands(house: AssembledApp, options: Partial<OpenSessionOptions> = {}): Promise<Hands> {
  const session = await house.open({ permissionProfile: "full-auto", ...options })
  const call = async (tool: string, input: unknown): Promise<Reading> => {
    house.model.push(callsTool(tool, input), says("Done."))
    await runToEnd(session, `use ${tool}`)
    const [result] = house.model.toolResults(house.model.requests.length - 1)
    if (result === undefined) throw new Error(`the model read no result of ${tool}`)
    return readingOf(result.text)
  }
  return {
    session,
    call,
    fields: async (tool, input) => (await call(tool, input)).fields,
    [Symbol.asyncDispose]: () => session.close("test_end"),
  }
}

function readingOf(text: string): Reading {
  const [json = "", ...notes] = text.split("\n\n")
  const parsed = parseJson(json)
  return { text, fields: isRecord(parsed) ? parsed : {}, notes: notes.join("\n\n") }
}

/** The processes of this machine, those inside containers and sandboxes too, that were started with exactly these words. */
export function processesRunning(command: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .flatMap((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0").join(" ").trim() === command
          ? [Number(name)]
          : []
      } catch {
        // It has just ended.
        return []
      }
    })
}

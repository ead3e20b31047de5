import { spawnSync } from "node:child_process"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

import { describe, expect, test } from "vitest"

import type { AgentEvent } from "../../../src/protocol/events.ts"
import { findBubblewrap } from "../../support/bubblewrap.ts"
import { callsTool, refuses, says } from "../../support/model-server/turn.ts"
import type { ScriptEntry } from "../../support/model-server/turn.ts"
import { titleWithReason } from "../../support/skip-reason.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined

const PLANT = "mkdir -p deep; echo x > deep/CLAUDE.md; echo x > .envrc; touch planted"
const PLANTED = ["deep/CLAUDE.md appeared", "/.envrc appeared"]

async function assembled(script: readonly ScriptEntry[]) {
  const app = await assembleApp(script, {
    config: "terminal: {sandbox: required}\ncheckpoints: {enabled: false}\n",
    workFiles: { "plant.sh": `${PLANT}\n`, "wait.sh": `${PLANT}\nsleep 100\n` },
  })
  const isPlanted = async (): Promise<void> => {
    while (!existsSync(join(app.home.workdir, "planted"))) await sleep(10)
  }
  return Object.assign(app, { isPlanted })
}

/** What a surface shows of a run. */
function shown(events: readonly AgentEvent[]): string {
  return events
    .flatMap((event) => {
      if (event.type === "status" && event.kind === "warning") return [event.text]
      return event.type === "run-end" ? (event.result.notes ?? []) : []
    })
    .join("\n")
}

describe.skipIf(missing !== undefined)(titleWithReason("what the check after a command found", missing), () => {
  test("is shown when the run is interrupted while the command runs", async () => {
    await using app = await assembled([callsTool("terminal", { command: "sh wait.sh" }), says("Done.")])
    const session = await app.open()
    const { events, end } = await runToEnd(session, "go", async (event) => {
      if (event.type !== "tool-start") return
      await app.isPlanted()
      session.interrupt()
    })
    expect(end.outcome).toBe("interrupted")
    for (const text of PLANTED) expect(shown(events)).toContain(text)
  })

  test("is shown when the run is interrupted after the command, or when the request fails", async () => {
    await using app = await assembled([
      callsTool("terminal", { command: "sh plant.sh" }),
      callsTool("terminal", { command: "sh plant.sh" }),
      refuses(400, "no"),
    ])
    const session = await app.open()
    const stopped = await runToEnd(session, "go", (event) => {
      if (event.type === "tool-end") session.interrupt()
    })
    const failed = await runToEnd(session, "again")
    expect([stopped.end.outcome, failed.end.outcome]).toEqual(["interrupted", "error"])
    for (const text of PLANTED) {
      expect(shown(stopped.events)).toContain(text)
      expect(shown(failed.events)).toContain(text)
    }
  })

  test("is shown with a command of the user", async () => {
    await using app = await assembled([])
    const session = await app.open()
    const events: AgentEvent[] = []
    for await (const event of session.runCommand("sh plant.sh", { signal: new AbortController().signal }))
      events.push(event)
    for (const text of PLANTED) expect(shown(events)).toContain(text)
  })

  test("is shown in the conversation when a sub-agent ran the command", async () => {
    await using app = await assembled([
      callsTool("delegate_task", { goal: "run plant.sh" }),
      callsTool("terminal", { command: "sh plant.sh" }),
      says("Ran it."),
      says("Done."),
    ])
    const { events } = await runToEnd(await app.open(), "go")
    for (const text of PLANTED) expect(shown(events)).toContain(text)
  })

  test("is left for the end of the process when the run has no reader any more", async () => {
    await using app = await assembled([callsTool("terminal", { command: "sh wait.sh" })])
    const session = await app.open()
    for await (const event of session.run("go", { signal: new AbortController().signal })) {
      if (event.type !== "tool-start") continue
      await app.isPlanted()
      break
    }
    await session.close("user_exit")
    const texts = app.app.takeCommandNotices().join("\n")
    for (const text of PLANTED) expect(texts).toContain(text)
    expect(readdirSync(join(app.home.path, "cache/sandbox/running"))).toEqual([])
  })

  test("is shown by the next process, once, if this one is killed before", async () => {
    await using app = await assembled([says("Hello."), says("Hello.")])
    const service = new URL("../../../src/app/services/command-notices.ts", import.meta.url).href
    const killed = spawnSync(process.execPath, [
      "--input-type=module",
      "-e",
      `import { createCommandNotices } from ${JSON.stringify(service)}
       import { join } from "node:path"
       const notices = createCommandNotices({ home: { file: (...names) => join(${JSON.stringify(app.home.path)}, ...names) } })
       notices.add(["A file appeared."])
       notices.add(["Another one appeared."])
       notices.take()
       process.kill(process.pid, "SIGKILL")`,
    ])
    expect(killed.signal).toBe("SIGKILL")
    const first = await runToEnd(await app.open(), "hello")
    expect(shown(first.events)).toMatch(/An earlier Hermes ended.*\nA file appeared\.\nAnother one appeared\./u)
    const second = await runToEnd(await app.open(), "hello")
    expect(shown(second.events)).toBe("")
  })
})

import { readdirSync, readFileSync, statSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import type { Session } from "../../src/app/session/session.ts"
import { contentText } from "../../src/protocol/message.ts"
import { prewarmedShells } from "../support/prewarmed-shells.ts"
import { repeat, reply, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

const SESSIONS = 40
const CONCURRENT = 8
/** As `shell-prewarmer.ts` allows. */
const MAX_SHELLS = 16
/** Allows for a busy machine. */
const POLL = { timeout: 10_000 }

const COMMANDS = ["echo $HERMES_SESSION_ID", "echo $FROM_STARTUP; cd /; export A=$HERMES_SESSION_ID", "echo $A $PWD"]

/** Requests the commands one after the other, in as many conversations as there are. */
const script = [
  repeat(({ body }) => {
    const { messages = [] } = body as { messages?: readonly { role: string }[] }
    const command = COMMANDS[messages.filter(({ role }) => role === "tool").length]
    return command === undefined ? says("Done.") : reply({ calls: [{ name: "terminal", input: { command } }] })
  }),
]

test.runIf(process.platform === "linux")(
  "open sessions share start-up files, shells and pipes, and each has its own state",
  async () => {
    await using assembled = await assembleApp(script, {
      config: "terminal:\n  sandbox: off\n  env_passthrough: [FROM_STARTUP]\ncheckpoints:\n  enabled: false\n",
    })
    const { home } = assembled
    const count = join(home.userHome, "count")
    await writeFile(join(home.userHome, ".profile"), `echo x >>${count}; export FROM_STARTUP=yes\n`)
    const sessions: Session[] = []
    const outputs = new Map<string, readonly string[]>()
    const runOne = async (): Promise<void> => {
      const session = await assembled.open({ attended: false })
      sessions.push(session)
      const { end } = await runToEnd(session, "Run the commands.")
      const results = end.result.messages.flatMap((message) =>
        message.role === "tool" ? [contentText(message.content)] : [],
      )
      outputs.set(
        session.id,
        results.map((result) => (JSON.parse(result) as { output: string }).output),
      )
    }
    const runMany = async (): Promise<void> => {
      for (let left = SESSIONS / 2; left > 0; left -= CONCURRENT)
        await Promise.all(Array.from({ length: Math.min(CONCURRENT, left) }, runOne))
    }
    await runMany()
    const early = footprint()
    await runMany()
    const late = footprint()

    expect(sessions.map(({ id }) => outputs.get(id))).toEqual(sessions.map(({ id }) => [id, "yes", `${id} /`]))
    expect(readFileSync(count, "utf8")).toBe("x\n")
    expect(prewarmedShells(process.pid).length).toBeLessThanOrEqual(MAX_SHELLS)
    expect({ pipes: late.pipes <= early.pipes + MAX_SHELLS, listeners: late.listeners }).toEqual({
      pipes: true,
      listeners: early.listeners,
    })
    for (const session of sessions) await session.close("test_end")
    await assembled.app.close()
    await expect.poll(() => prewarmedShells(process.pid), POLL).toEqual([])
    expect(memoryDirectories()).toEqual([])
  },
)

/** What grows with the number of open sessions if they do not share it. */
function footprint() {
  return {
    pipes: readdirSync("/proc/self/fd").filter((name) => isPipe(name)).length,
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
  }
}

function isPipe(descriptor: string): boolean {
  try {
    return statSync(`/proc/self/fd/${descriptor}`).isFIFO()
  } catch {
    // It was the descriptor that read the directory.
    return false
  }
}

function memoryDirectories(): readonly string[] {
  return readdirSync("/dev/shm").filter((name) => name.startsWith("hermes-") && name.includes(`-${process.pid}-`))
}

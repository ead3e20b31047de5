import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { findBubblewrap } from "../support/bubblewrap.ts"
import { startModelServer } from "../support/model-server/server.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import { callsTool, says, waitsFor } from "../support/model-server/turn.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import { hermes, NO_SANDBOX, settingsFor, startHermes } from "./hermes-process.ts"
import { isAlive } from "./process-alive.ts"
import { titleWithReason } from "../support/skip-reason.ts"

const bubblewrap = await findBubblewrap()
/** Writes its own process id and that of an orphan that it starts. */
const COMMAND = "(setsid sh -c 'echo $$ >stray; exec sleep 300' &); echo $$ >leader; exec sleep 300"

/** Starts Hermes and kills it while its background command runs. Returns the ids of the remaining processes. */
async function leaveProcess(
  home: TemporaryHome,
  { model, killed }: { readonly model: ModelServer; readonly killed: PromiseWithResolvers<void> },
): Promise<readonly number[]> {
  await using running = startHermes(home, ["-z", "serve", "--yolo"], { stdin: "inherit-null" })
  await model.received(1)
  await expect
    .poll(() => existsSync(join(home.workdir, "stray")) && existsSync(join(home.workdir, "leader")))
    .toBe(true)
  running.signal("SIGKILL")
  await running.exit
  killed.resolve()
  return ["leader", "stray"].map((name) => Number(readFileSync(join(home.workdir, name), "utf8")))
}

function answerOf(model: ModelServer, request: number): Record<string, unknown> {
  return JSON.parse(model.toolResults(request).at(-1)?.text ?? "{}") as Record<string, unknown>
}

test("the next Hermes finds a background process of a killed one and kills its whole process tree", async () => {
  const killed = Promise.withResolvers<void>()
  await using model = await startModelServer([
    callsTool("terminal", { command: COMMAND, background: true }),
    says("never said", waitsFor(killed.promise)),
    callsTool("process", { action: "list" }),
    (request) => {
      const id = /proc_[0-9a-f]{12}/u.exec(request.rawBody)?.[0] ?? "none"
      return callsTool("process", { action: "kill", session_id: id })
    },
    callsTool("process", { action: "list" }),
    says("Cleared away."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
  const left = await leaveProcess(home, { model, killed })
  expect(left.map(isAlive)).toEqual([true, true])
  await using chat = await openTerminal({
    command: hermesCommand(),
    args: ["-c"],
    env: { ...home.env, HERMES_TUI: "1" },
    cwd: home.workdir,
    columns: 250,
  })
  await chat.waitFor(new RegExp(`still runs: .*sleep 300 \\(pid ${left[0]}\\)\\. /stop ends it\\.`, "u"))
  // The status bar counts it too.
  await chat.waitFor(/⚕ test-model .* ⚙ 1 │/u)
  chat.press("ctrl+d")
  await chat.exit
  const next = await hermes(home, ["-z", "clear away", "--yolo"])
  expect([next.code, next.stdout.trim()]).toEqual([0, "Cleared away."])
  expect(answerOf(model, 3)).toMatchObject({
    processes: [{ command: COMMAND, status: "running", detached: true, output_preview: "" }],
  })
  expect(answerOf(model, 4)).toMatchObject({ status: "killed", completion_reason: "killed" })
  expect(answerOf(model, 5)).toMatchObject({ processes: [{ status: "exited", detached: true }] })
  expect(left.map(isAlive)).toEqual([false, false])
  expect(JSON.parse(readFileSync(join(home.path, "processes.json"), "utf8"))).toEqual([])
})

const noSandbox = "missing" in bubblewrap ? bubblewrap.missing : undefined

test.skipIf(noSandbox !== undefined)(
  titleWithReason("in the sandbox it dies with the killed Hermes and is reported as exited", noSandbox),
  async () => {
    const killed = Promise.withResolvers<void>()
    await using model = await startModelServer([
      callsTool("terminal", { command: COMMAND, background: true }),
      says("never said", waitsFor(killed.promise)),
      callsTool("process", { action: "list" }),
      says("Nothing runs."),
    ])
    await using home = await temporaryHome({ config: settingsFor(model, "terminal:\n  sandbox: required\n") })
    await leaveProcess(home, { model, killed })
    await hermes(home, ["-z", "look", "--yolo"])
    const { processes } = answerOf(model, 3)
    expect(processes).toMatchObject([{ command: COMMAND, status: "exited", exit_code: null, detached: true }])
  },
)

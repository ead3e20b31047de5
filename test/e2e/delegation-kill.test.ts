import { readdirSync, readFileSync } from "node:fs"

import { expect, test } from "vitest"

import { delegatingModel } from "../integration/delegation/delegating-model.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { seededRandom } from "../support/seeded-random.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { hermes, NO_SANDBOX, settingsFor, startHermes, streamLines } from "./hermes-process.ts"
import { forEachSeed, orExit, pause, problemsOf, RUNS } from "./killed-session.ts"

/** Long enough for a start under load, the first requests and commands of three sub-agents. */
const LATEST_MS = 3000

test(
  `a Hermes with three sub-agents that is killed at ${RUNS} random instants leaves no process, and the next start reports each sub-agent`,
  async () => {
    const outcomes = await forEachSeed(killWhileDelegating)
    expect(outcomes.flatMap(({ problems }) => problems)).toEqual([])
    // Some runs must be killed while sub-agents and their commands were running.
    expect(RUNS < 10 || outcomes.some(({ reported, sleeping }) => reported === 3 && sleeping >= 2)).toBe(true)
  },
  60_000 + RUNS * 8000,
)

async function killWhileDelegating(
  seed: number,
): Promise<{ readonly problems: readonly string[]; readonly reported: number; readonly sleeping: number }> {
  const random = seededRandom(seed)
  const { problems, check } = problemsOf(seed)
  /** A duration that no other process sleeps for. */
  const marker = `6000.${seed}${process.pid}`
  const goals = ["Foreground", "Background", "Quick"]
  const script = delegatingModel({
    "": [
      ({ rawBody }) =>
        rawBody.includes("next start")
          ? says("Hello.")
          : callsTool("delegate_task", { tasks: goals.map((goal) => ({ goal })) }, { id: "d" }),
      says("All done."),
    ],
    Foreground: [callsTool("terminal", { command: `sleep ${marker}1; true` }), says("slept")],
    Background: [
      callsTool("terminal", { command: `sleep ${marker}2; true`, background: true }),
      callsTool("terminal", { command: `sleep ${marker}3; true` }),
      says("started"),
    ],
    Quick: [says("quick")],
  })
  await using model = await startModelServer(script.script)
  const sandbox = seed % 2 === 0 ? "" : NO_SANDBOX
  await using home = await temporaryHome({ config: settingsFor(model, sandbox) })

  const { lines, sleeping } = await (async () => {
    await using running = startHermes(home, ["-q", "go", "--output-format", "stream-json"], { stdin: "inherit-null" })
    const atStart = random() < 0.5 ? running.waitForOutput("subagent.start", { timeoutMs: 30_000 }) : Promise.resolve()
    await orExit(running, atStart)
    await orExit(running, pause(random() * LATEST_MS))
    const sleeping = commandLines().filter((line) => line.includes(marker)).length
    running.signal("SIGKILL")
    return { sleeping, lines: streamLines((await running.exit).stdout) }
  })()

  const next = await hermes(home, ["-z", "next start"])
  check(next.code === 0, `the next start failed: ${next.stderr}`)
  const started = lines.filter(({ type }) => type === "subagent.start").map((line) => String(line["subagent_id"]))
  const isDelivered = lines.some((line) => line.type === "tool.complete" && line["tool_call_id"] === "d")
  const reported = started.filter((id) => next.stderr.includes(`The sub-agent ${id} `))
  if (!isDelivered)
    check(reported.length === started.length, `reported ${reported.join(" ")} of ${started.join(" ")}: ${next.stderr}`)
  const left = await processesLeft(marker)
  check(left.length === 0, `still running: ${left.join("; ")}`)
  const again = await hermes(home, ["-z", "next start"])
  check(!again.stderr.includes("The sub-agent"), `reported twice: ${again.stderr}`)
  return { problems, reported: reported.length, sleeping }
}

/** The command lines with the marker. A killed process group needs a moment to end. */
async function processesLeft(marker: string): Promise<readonly string[]> {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const found = commandLines().filter((line) => line.includes(marker))
    if (found.length === 0) return []
    await pause(100)
  }
  return commandLines().filter((line) => line.includes(marker))
}

function commandLines(): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim()
        return line === "" ? [] : [`${pid} ${line}`]
      } catch {
        // It has ended.
        return []
      }
    })
}

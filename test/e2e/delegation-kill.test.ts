import { readdirSync, readFileSync } from "node:fs"

import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import type { RecordedRequest } from "../support/model-server/recorded-request.ts"
import { callsTool, repeat, says } from "../support/model-server/turn.ts"
import type { Turn } from "../support/model-server/turn.ts"
import { seededRandom } from "../support/seeded-random.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { hermes, NO_SANDBOX, settingsFor, startHermes, streamLines } from "./hermes-process.ts"
import { orExit, pause, problemsOf } from "./killed-session.ts"

/** The number of kills, for example `HERMES_KILL_RUNS=500 npx vitest run test/e2e/delegation-kill`. */
const RUNS = Number(process.env["HERMES_KILL_RUNS"] ?? 100)
/** Other instants every day; a failure names its seed, which `HERMES_KILL_SEED` repeats. */
const SEED = Number(process.env["HERMES_KILL_SEED"] ?? Math.floor(Date.now() / 86_400_000))
/** Parents that share a home and wait for each other before they delegate: one next start reports the sub-agents of all. */
const GROUP = 10
const CONCURRENT_GROUPS = 2
const GOALS = ["Foreground", "Background", "Quick"]

test(
  `${RUNS} processes with three sub-agents each, killed at random instants, leave no process, and the next start reports each sub-agent`,
  async () => {
    const groups = Array.from({ length: Math.ceil(RUNS / GROUP) }, (_, index) => index)
    const outcomes: GroupOutcome[] = []
    const runGroups = async (): Promise<void> => {
      for (let group = groups.shift(); group !== undefined; group = groups.shift())
        outcomes.push(await killGroup(group, Math.min(GROUP, RUNS - group * GROUP)))
    }
    await Promise.all(Array.from({ length: CONCURRENT_GROUPS }, runGroups))

    expect(outcomes.flatMap(({ problems }) => problems)).toEqual([])
    const killed = outcomes.flatMap(({ parents }) => parents)
    // The instants must be spread: before any sub-agent, while they start, and while their commands run.
    expect(killed).toHaveLength(RUNS)
    expect(new Set(killed.map(({ started }) => started > 0))).toEqual(new Set([true, false]))
    expect(killed.some(({ started, sleeping }) => started === GOALS.length && sleeping >= 2)).toBe(true)
    if (process.env["HERMES_KILL_RUNS"] !== undefined) process.stdout.write(`${figures(killed)}\n`)
  },
  60_000 + RUNS * 3000,
)

interface KilledParent {
  readonly started: number
  /** The commands of its sub-agents that ran when it was killed. */
  readonly sleeping: number
}

interface GroupOutcome {
  readonly problems: readonly string[]
  readonly parents: readonly KilledParent[]
}

async function killGroup(group: number, size: number): Promise<GroupOutcome> {
  const seed = SEED * 1000 + group
  const { problems, check } = problemsOf(SEED)
  /** The beginning of a duration that no other process sleeps for. */
  const marker = `6000.${group}7${process.pid}7`
  const gate = openGate(size)
  await using model = await startModelServer([repeat((request) => answer(request, { marker, gate }))])
  await using home = await temporaryHome({ config: settingsFor(model, group % 2 === 0 ? "" : NO_SANDBOX) })
  const parents = await Promise.all(
    Array.from({ length: size }, (_, index) =>
      killWhileDelegating(home, { name: `${index}`, marker, gate, random: seededRandom(seed * 100 + index) }),
    ),
  )

  const next = await hermes(home, ["-z", "next start"])
  check(next.code === 0, `the next start failed: ${next.stderr}`)
  for (const { ids, isDelivered } of parents) {
    const missing = isDelivered ? [] : ids.filter((id) => !next.stderr.includes(`The sub-agent ${id} `))
    check(missing.length === 0, `not reported: ${missing.join(" ")} of ${ids.join(" ")}: ${next.stderr}`)
  }
  const left = await processesLeft(marker)
  check(left.length === 0, `still running: ${left.join("; ")}`)
  const again = await hermes(home, ["-z", "next start"])
  check(!again.stderr.includes("The sub-agent"), `reported twice: ${again.stderr}`)
  return { problems, parents: parents.map(({ ids, sleeping }) => ({ started: ids.length, sleeping })) }
}

interface Parent {
  readonly name: string
  readonly marker: string
  readonly gate: Gate
  readonly random: () => number
}

async function killWhileDelegating(home: TemporaryHome, { name, marker, gate, random }: Parent) {
  await using running = startHermes(home, ["-q", `go ${name}.`, "--output-format", "stream-json"], {
    stdin: "inherit-null",
  })
  const phase = random()
  if (phase < 0.15) {
    await orExit(running, pause(random() * 500))
    gate.leave(name)
  } else {
    await orExit(running, gate.opened)
    if (phase > 0.5) await orExit(running, running.waitForOutput("subagent.start", { timeoutMs: 30_000 }))
    await orExit(running, pause(random() * 1500))
  }
  const sleeping = commandLines().filter((line) => line.includes(`sleep ${marker}${name}8`)).length
  running.signal("SIGKILL")
  const lines = streamLines((await running.exit).stdout)
  gate.leave(name)
  return {
    sleeping,
    ids: lines.filter(({ type }) => type === "subagent.start").map((line) => String(line["subagent_id"])),
    isDelivered: lines.some((line) => line.type === "tool.complete" && line["tool_call_id"] === "d"),
  }
}

interface Gate {
  /** Resolves when every parent has arrived or left. */
  readonly opened: Promise<void>
  arrive(name: string): Promise<void>
  leave(name: string): void
}

/** A parent that starts late would report the sub-agents of one that is already killed, and might be killed itself. */
function openGate(size: number): Gate {
  const { promise: opened, resolve } = Promise.withResolvers<void>()
  const passed = new Set<string>()
  const leave = (name: string): void => {
    passed.add(name)
    if (passed.size === size) resolve()
  }
  return {
    opened,
    leave,
    arrive: async (name) => {
      leave(name)
      await opened
    },
  }
}

/** Every turn follows from the request: many parents and sub-agents share the server. */
async function answer(
  { body }: RecordedRequest,
  { marker, gate }: { readonly marker: string; readonly gate: Gate },
): Promise<Turn> {
  const { messages } = body as { readonly messages: readonly { readonly role: string; readonly content: string }[] }
  const turn = messages.filter(({ role }) => role === "assistant").length
  const [, goal, child = ""] = /# Task\n(\w+) (\d+)\n/u.exec(messages[0]?.content ?? "") ?? []
  const sleep = (which: number): string => `sleep ${marker}${child}8${which}; true`
  if (goal === "Quick") return says("quick")
  if (goal === "Foreground") return turn === 0 ? callsTool("terminal", { command: sleep(1) }) : says("slept")
  if (goal === "Background" && turn === 0) return callsTool("terminal", { command: sleep(2), background: true })
  if (goal === "Background") return turn === 1 ? callsTool("terminal", { command: sleep(3) }) : says("started")
  const [, parent] = /go (\d+)\./u.exec(messages.findLast(({ role }) => role === "user")?.content ?? "") ?? []
  if (parent === undefined || turn > 0) return says("Hello.")
  await gate.arrive(parent)
  return callsTool("delegate_task", { tasks: GOALS.map((each) => ({ goal: `${each} ${parent}` })) }, { id: "d" })
}

function figures(killed: readonly KilledParent[]): string {
  const count = (fits: (parent: KilledParent) => boolean): number => killed.filter(fits).length
  return [
    `seed ${SEED}: ${killed.length} kills`,
    ...[0, 1, 2, 3].map((n) => `${count(({ started }) => started === n)} with ${n} sub-agents started`),
    `${count(({ sleeping }) => sleeping > 0)} while commands ran`,
  ].join(", ")
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

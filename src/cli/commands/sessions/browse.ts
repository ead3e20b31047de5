import { assertNever } from "../../../base/assert-never.ts"
import { systemClock } from "../../../base/clock.ts"
import type { SessionSummary, TitleOutcome } from "../../../state/store.ts"
import { CliError, type Invocation } from "../../command.ts"
import { parseLine } from "../../parse.ts"
import { withSessions } from "../../session-store.ts"
import { listedSessions, sessionTable } from "./list.ts"

const DEFAULT_LIMIT = 500

/** `hermes sessions browse`: a list to choose from, then the chosen session in this process. */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal } = invocation
  if (!terminal.stdinIsTty) {
    throw new CliError(
      "`hermes sessions browse` needs a terminal; use `hermes sessions list` and `hermes --resume ID`.",
      { exitCode: 1 },
    )
  }
  const sessions = await listedSessions(invocation, { limit: DEFAULT_LIMIT, all: false })
  if (sessions.length === 0) {
    terminal.line("There are no sessions to choose from.")
    return 0
  }
  const chosen = await (canDraw(invocation) ? pick(sessions, invocation) : choose(sessions, invocation))
  return chosen === undefined ? 0 : resume(chosen.id, invocation)
}

function canDraw({ terminal, environment }: Invocation): boolean {
  return terminal.stdoutIsTty && process.stdin.isTTY && environment.get("TERM") !== "dumb"
}

async function pick(
  sessions: readonly SessionSummary[],
  { terminal, home, signal }: Invocation,
): Promise<SessionSummary | undefined> {
  const { pickSession } = await import("./session-picker.ts")
  return await pickSession(sessions, {
    terminal,
    signal,
    input: process.stdin,
    output: process.stdout,
    remove: (id) => withSessions(home, { absent: () => false, work: (store) => store.deleteSession(id) }),
    rename: (id, title) =>
      withSessions<Renamed>(home, {
        absent: () => ({ problem: "There is no such session any more." }),
        work: async (store) => renamed(await store.setTitle(id, title)),
      }),
  })
}

type Renamed = { readonly title: string | null } | { readonly problem: string }

function renamed(outcome: TitleOutcome): Renamed {
  switch (outcome.kind) {
    case "set":
      return { title: outcome.title }
    case "too-long":
      return { problem: `The title has ${outcome.length} characters; ${outcome.limit} are allowed.` }
    case "taken":
      return { problem: `Another session has this title: ${outcome.by}.` }
    case "no-session":
      return { problem: "There is no such session any more." }
    default:
      return assertNever(outcome)
  }
}

/** Where nothing can be drawn: numbers. */
async function choose(
  sessions: readonly SessionSummary[],
  { terminal }: Invocation,
): Promise<SessionSummary | undefined> {
  const [heading = "", ...rows] = sessionTable(sessions, { now: systemClock.now() / 1000, kinds: false })
  terminal.line(`     ${heading}`)
  for (const [index, line] of rows.entries()) terminal.line(`${String(index + 1).padStart(4)} ${line}`)
  for (;;) {
    const answer = await terminal.ask("Number of the session, or Enter to leave: ")
    if (answer === undefined || answer.trim() === "") return undefined
    const found = /^\d+$/.test(answer.trim()) ? sessions[Number(answer) - 1] : undefined
    if (found !== undefined) return found
    terminal.errLine(`Type a number from 1 to ${sessions.length}.`)
  }
}

/** Runs the chat as `hermes --resume ID` would, with the run flags that were given before `sessions`. */
async function resume(id: string, invocation: Invocation): Promise<number> {
  const { flags, tree } = invocation
  const inherited = [...tree.runFlags, ...tree.commonFlags].flatMap((flag) => {
    if (!flags.has(flag.name) || flag.name === "continue" || flag.name === "resume") return []
    return flag.value.kind === "none"
      ? [`--${flag.name}`]
      : flags.texts(flag.name).map((value) => `--${flag.name}=${value}`)
  })
  const line = parseLine([`--resume=${id}`, ...inherited], tree)
  if (line.kind !== "run" || line.command.load === undefined) throw new Error(`cannot resume ${id}`)
  const { run: chat } = await line.command.load()
  return chat({ ...invocation, path: line.path, flags: line.flags, positionals: [] })
}

import { systemClock } from "../../../base/clock.ts"
import type { SessionSummary } from "../../../state/store.ts"
import { CliError, type Invocation } from "../../command.ts"
import { parseLine } from "../../parse.ts"
import { withSessions } from "../../session-store.ts"
import { sessionTable } from "./list.ts"

const DEFAULT_LIMIT = 500

/** `hermes sessions browse`: a numbered list, then the chosen session in this process. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, home } = invocation
  if (!terminal.stdinIsTty) {
    throw new CliError(
      "`hermes sessions browse` needs a terminal; use `hermes sessions list` and `hermes --resume ID`.",
      { exitCode: 1 },
    )
  }
  const source = flags.text("source")
  const sessions = await withSessions<readonly SessionSummary[]>(home, {
    absent: () => [],
    work: (store) =>
      store.list({
        ...(source === undefined ? { excludeSources: ["tool"] } : { source }),
        limit: flags.number("limit") ?? DEFAULT_LIMIT,
        orderBy: "last-activity",
      }),
  })
  if (sessions.length === 0) {
    terminal.line("There are no sessions to choose from.")
    return 0
  }
  const chosen = await choose(sessions, invocation)
  return chosen === undefined ? 0 : resume(chosen.id, invocation)
}

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

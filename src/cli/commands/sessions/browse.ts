import { systemClock } from "../../../base/clock.ts"
import type { SessionId } from "../../../protocol/identifiers.ts"
import type { SessionSummary } from "../../../state/store.ts"
import { CliError, type Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { parseCommandLine } from "../../command-line/parse-command-line.ts"
import { sessionsForFlags, sessionTable } from "./list.ts"
import { canDrawList } from "../../terminal/list-screen.ts"
import { outputWidth } from "../../terminal/table.ts"

const DEFAULT_LIMIT = 500

/** `hermes sessions browse`: lets the user choose a session and resumes it in this process. */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal } = invocation
  if (!terminal.stdinIsTty) {
    throw new CliError(
      "`hermes sessions browse` needs a terminal; use `hermes sessions list` and `hermes --resume ID`.",
      { exitCode: 1 },
    )
  }
  const sessions = await sessionsForFlags(invocation, { defaultLimit: DEFAULT_LIMIT, all: false })
  if (sessions.length === 0) {
    terminal.line("There are no sessions to choose from.")
    return 0
  }
  const chosen = canDrawList(invocation) ? await pick(invocation) : (await choose(sessions, invocation))?.id
  return chosen === undefined ? 0 : resume(chosen, invocation)
}

async function pick(invocation: Invocation): Promise<SessionId | undefined> {
  const { browseSessions } = await import("../../../tui/modals/browse-sessions.ts")
  const { terminal, signal, environment, flags } = invocation
  return await browseSessions(homeContext(invocation), {
    environment,
    color: terminal.color,
    signal,
    source: flags.text("source"),
    limit: flags.number("limit") ?? DEFAULT_LIMIT,
  })
}

/** The number before each row, and a space. */
const NUMBER_COLUMNS = 5

/** Asks for a number, on terminals that cannot draw a list. */
async function choose(
  sessions: readonly SessionSummary[],
  invocation: Invocation,
): Promise<SessionSummary | undefined> {
  const { terminal } = invocation
  const width = outputWidth(invocation)
  const [heading = "", ...rows] = sessionTable(sessions, {
    now: systemClock.now() / 1000,
    kinds: false,
    width: width === undefined ? undefined : width - NUMBER_COLUMNS,
  })
  terminal.line(`${" ".repeat(NUMBER_COLUMNS)}${heading}`)
  for (const [index, line] of rows.entries()) {
    terminal.line(`${String(index + 1).padStart(NUMBER_COLUMNS - 1)} ${line}`)
  }
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
  const line = parseCommandLine([`--resume=${id}`, ...inherited], tree)
  if (line.kind !== "run" || line.command.load === undefined) throw new Error(`cannot resume ${id}`)
  const { run: chat } = await line.command.load()
  return chat({ ...invocation, path: line.path, flags: line.flags, positionals: [] })
}

import type { Workspace } from "../../exec/workspace.ts"
import type { ToolContext } from "../../toolkit/tool.ts"
import { commandsOf, fromProgram, lexShell } from "./shell-lexer.ts"

/** How long a look for sudo without a password may take. */
const PROBE_MS = 3000

/** A command whose sudo words take the password from its input; `password` must not appear in anything it says. */
export interface SudoCommand {
  readonly command: string
  readonly stdin?: string
  readonly password?: string
}

/**
 * Gives sudo its password: the configured one, or one that the person is asked for and that is kept for the session. Where there is none,
 * or none is needed, the command stays as it is.
 */
export async function prepareSudo(command: string, context: ToolContext): Promise<SudoCommand> {
  const rewritten = rewriteSudo(command)
  if (rewritten.count === 0) return { command }
  const password = await findPassword(context)
  if (password === undefined) return { command }
  return { command: rewritten.command, stdin: `${password}\n`.repeat(rewritten.count), password }
}

/** Every real sudo, not one in quotes, comments or arguments, reads its password from the input and asks nothing. */
export function rewriteSudo(command: string): { readonly command: string; readonly count: number } {
  const places = commandsOf(lexShell(command))
    .flatMap((words) => fromProgram(words).slice(0, 1))
    .filter(({ text }) => text === "sudo" || text.endsWith("/sudo"))
    .map(({ end }) => end)
    .toSorted((a, b) => b - a)
  const rewritten = places.reduce((text, at) => `${text.slice(0, at)} -S -p ''${text.slice(at)}`, command)
  return { command: rewritten, count: places.length }
}

/** Output that may hold the password: a program behind a sudo that needed none reads it as its own input. */
export function withoutPassword(output: string, { password }: SudoCommand): string {
  return password === undefined || password.length < 4 ? output : output.replaceAll(password, "***")
}

/** After a wrong password the person is asked again; without one the model learns what would help. */
export function sudoTip(output: string, sudo: SudoCommand, context: ToolContext): string | undefined {
  if (sudo.password !== undefined) {
    if (/incorrect password|Sorry, try again/i.test(output)) context.ports.sudo?.forget()
    return undefined
  }
  if (/sudo: .*no new privileges/i.test(output))
    return "[sudo cannot work in the sandbox that commands run in. Ask the person to do this, or to set terminal.sandbox to off.]"
  return /sudo: .*(?:password is required|terminal is required|no password was provided)/i.test(output)
    ? "[sudo needs a password and nobody could be asked. The person can set SUDO_PASSWORD in the .env file of the Hermes home.]"
    : undefined
}

async function findPassword({ ports, workspace, signal }: ToolContext): Promise<string | undefined> {
  const { sudo, ask } = ports
  if (sudo === undefined || (workspace.kind === "local" && (await staysUnprivileged(workspace, signal))))
    return undefined
  const known = sudo.password()
  if (known !== undefined || ask === undefined) return known
  if (workspace.kind === "local" && (await needsNoPassword(workspace, signal))) return undefined
  const answered = await ask.ask({
    kind: "sudo",
    question: "A command needs your sudo password. It is kept for this session only.",
    choices: [],
    allowFreetext: true,
  })
  if (answered.kind !== "answer" || answered.text === "") return undefined
  sudo.remember(answered.text)
  return answered.text
}

/**
 * Nothing that a command starts can gain rights, as in the sandbox. No real sudo would take the password then, only what a command has
 * called sudo, or put before it.
 */
async function staysUnprivileged(workspace: Workspace, signal: AbortSignal): Promise<boolean> {
  const probe = workspace.run(LOOK_AT_PRIVILEGES, { timeoutMs: PROBE_MS, signal, keepChars: 1 })
  return (await probe.exit).code === 0
}

/** Only what the shell itself knows, so that no program can answer for it. */
const LOOK_AT_PRIVILEGES =
  'while read -r name value; do [ "$name" != NoNewPrivs: ] || exit $((1 - value)); done </proc/self/status; exit 1'

async function needsNoPassword(workspace: Workspace, signal: AbortSignal): Promise<boolean> {
  const probe = workspace.run("sudo -n true", { timeoutMs: PROBE_MS, signal, keepChars: 1 })
  return (await probe.exit).code === 0
}

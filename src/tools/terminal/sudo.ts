import type { Workspace } from "../../exec/workspace.ts"
import type { ToolContext } from "../../toolkit/tool.ts"
import { commandsOf, fromProgram, lexShell } from "./shell-lexer.ts"

/** Timeout of the probes. */
const PROBE_MS = 3000

/** A command whose sudo calls read the password from stdin; `password` must be masked in its output. */
export interface SudoCommand {
  readonly command: string
  readonly stdin?: string
  readonly password?: string
}

/**
 * Passes sudo its password: the configured one, or one that the user enters and that is kept for the session. Without a password,
 * or where none is needed, the command stays unchanged.
 */
export async function prepareSudo(command: string, context: ToolContext): Promise<SudoCommand> {
  const rewritten = rewriteSudo(command)
  if (rewritten.count === 0) return { command }
  const password = await findPassword(context)
  if (password === undefined) return { command }
  return { command: rewritten.command, stdin: `${password}\n`.repeat(rewritten.count), password }
}

/** Makes every actual sudo call, not one in quotes, comments or arguments, read its password from stdin without a prompt. */
export function rewriteSudo(command: string): { readonly command: string; readonly count: number } {
  const offsets = commandsOf(lexShell(command))
    .flatMap((words) => fromProgram(words).slice(0, 1))
    .filter(({ text }) => text === "sudo" || text.endsWith("/sudo"))
    .map(({ end }) => end)
    .toSorted((a, b) => b - a)
  const rewritten = offsets.reduce((text, at) => `${text.slice(0, at)} -S -p ''${text.slice(at)}`, command)
  return { command: rewritten, count: offsets.length }
}

/** Masks the password in output: where sudo needs none, the program itself reads it from stdin and may print it. */
export function withoutPassword(output: string, { password }: SudoCommand): string {
  return password === undefined || password.length < 4 ? output : output.replaceAll(password, "***")
}

/** Forgets a wrong password, so that the user is asked again; without a password, explains to the model how to set one. */
export function sudoTip(output: string, sudo: SudoCommand, context: ToolContext): string | undefined {
  if (sudo.password !== undefined) {
    if (/incorrect password|Sorry, try again/i.test(output)) context.ports.sudo?.forget()
    return undefined
  }
  if (/sudo: .*no new privileges/i.test(output))
    return "[sudo cannot work in the sandbox that commands run in. Ask the user to do this, or to set terminal.sandbox to off.]"
  return /sudo: .*(?:password is required|terminal is required|no password was provided)/i.test(output)
    ? "[sudo needs a password and no user could be asked. The user can set SUDO_PASSWORD in the .env file of the Hermes home.]"
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
 * Whether commands cannot gain privileges, as in the sandbox. Then the real sudo cannot use the password, and only a program that
 * poses as sudo would get it.
 */
async function staysUnprivileged(workspace: Workspace, signal: AbortSignal): Promise<boolean> {
  const probe = workspace.run(CHECK_NO_NEW_PRIVILEGES, { timeoutMs: PROBE_MS, signal, keepChars: 1 })
  return (await probe.exit).code === 0
}

/** Uses only shell built-ins, so that no other program can fake the result. */
const CHECK_NO_NEW_PRIVILEGES =
  'while read -r name value; do [ "$name" != NoNewPrivs: ] || exit $((1 - value)); done </proc/self/status; exit 1'

async function needsNoPassword(workspace: Workspace, signal: AbortSignal): Promise<boolean> {
  const probe = workspace.run("sudo -n true", { timeoutMs: PROBE_MS, signal, keepChars: 1 })
  return (await probe.exit).code === 0
}

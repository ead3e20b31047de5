import type { Workspace } from "../../exec/workspace.ts"
import type { ToolContext } from "../../toolkit/tool.ts"
import { readCommandLine } from "../../policy/shell/written-commands.ts"

/** Timeout of the probes. */
const PROBE_MS = 3000

/** A command whose sudo calls read the password from stdin; `password` must be masked in its output. */
export interface SudoCommand {
  readonly command: string
  readonly stdin?: string
  readonly password?: string
  /** Another program of the line could read the password, so it was not passed. */
  readonly isShared?: true
}

/**
 * Passes sudo its password: the configured one, or one that the user enters and that is kept for the session. Only the installed sudo
 * gets it, and only in a line where nothing else reads the input. Without a password, or where none is needed, the command stays unchanged.
 */
export async function prepareSudo(command: string, context: ToolContext): Promise<SudoCommand> {
  if (!command.includes("sudo")) return { command }
  const program = await findSudo(context)
  const rewritten = program === undefined ? undefined : rewriteSudo(command, program)
  if (program === undefined || rewritten === undefined || rewritten.count === 0) return { command }
  if (rewritten.isShared) return { command, isShared: true }
  const password = await findPassword(context, program)
  if (password === undefined) return { command }
  return { command: rewritten.command, stdin: `${password}\n`.repeat(rewritten.count), password }
}

interface RewrittenCommand {
  readonly command: string
  readonly count: number
  /** Another program could read the password. */
  readonly isShared: boolean
}

/** Makes every actual sudo call, not one in quotes, comments or arguments, start the installed sudo and read its password from stdin. */
export function rewriteSudo(command: string, program: string): RewrittenCommand {
  const names = readCommandLine(command).commands.flatMap(([name]) => name ?? [])
  const calls = names.filter(({ value }) => value === "sudo" || value === program)
  const offsets = calls.flatMap(({ value, end }) =>
    end !== undefined && command.slice(end - value.length, end) === value ? [{ from: end - value.length, end }] : [],
  )
  const text = offsets
    .toSorted((a, b) => b.from - a.from)
    .reduce((line, { from, end }) => `${line.slice(0, from)}\\command ${program} -S -p ''${line.slice(end)}`, command)
  const others = names.filter((name) => !calls.includes(name))
  const isShared =
    offsets.length < calls.length || others.some(({ value }) => !QUIET_PROGRAMS.has(value)) || REDEFINES.test(command)
  return { command: calls.length === 0 ? command : `${ONLY_PROGRAMS}${text}`, count: calls.length, isShared }
}

/**
 * Functions can have the name of any program or built-in. In POSIX mode `unset` is always the built-in, so this removes a function named
 * `command`, and `command` then runs the program itself.
 */
const ONLY_PROGRAMS = "POSIXLY_CORRECT=1; \\unset -f command; \\unset POSIXLY_CORRECT\n"

/** They do not read their input. */
const QUIET_PROGRAMS: ReadonlySet<string> = new Set(
  "echo printf cd true false : test [ [[ export mkdir ls pwd date sleep touch rm cp mv chmod chown ln which id whoami set umask rmdir uname".split(
    " ",
  ),
)
/** Gives a name another meaning within the line. */
const REDEFINES = /\(\s*\)|\bfunction\b|POSIXLY_CORRECT|BASH_/u

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
  if (sudo.isShared === true && /sudo: .*(?:password|terminal) is required/i.test(output))
    return "[The sudo password is only passed to a command line in which nothing but sudo can read it. Run the sudo command on its own.]"
  return /sudo: .*(?:password is required|terminal is required|no password was provided)/i.test(output)
    ? "[sudo needs a password and no user could be asked. The user can set SUDO_PASSWORD in the .env file of the Hermes home.]"
    : undefined
}

async function findPassword({ ports, workspace, signal }: ToolContext, program: string): Promise<string | undefined> {
  const { sudo, ask } = ports
  if (sudo === undefined || (workspace.kind === "local" && (await staysUnprivileged(workspace, signal))))
    return undefined
  const known = sudo.password()
  if (known !== undefined || ask === undefined) return known
  if (workspace.kind === "local" && (await needsNoPassword(workspace, { program, signal }))) return undefined
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

async function needsNoPassword(
  workspace: Workspace,
  { program, signal }: { readonly program: string; readonly signal: AbortSignal },
): Promise<boolean> {
  const probe = workspace.run(`${program} -n true`, { timeoutMs: PROBE_MS, signal, keepChars: 1 })
  return (await probe.exit).code === 0
}

/** The installed sudo. On another machine only the permission bits of the usual paths are known. */
async function findSudo({ ports: { sudo }, workspace, signal }: ToolContext): Promise<string | undefined> {
  if (sudo === undefined) return undefined
  if (workspace.kind === "local") return sudo.programs.find((path) => sudo.isGenuine(path))
  for (const path of sudo.programs) {
    const probe = workspace.run(`[ -u ${path} ] && [ -x ${path} ]`, { timeoutMs: PROBE_MS, signal, keepChars: 1 })
    if ((await probe.exit).code === 0) return path
  }
  return undefined
}

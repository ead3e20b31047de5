import { posix } from "node:path"

import { assertNever } from "../../../base/assert-never.ts"
import { randomHex } from "../../../base/random-and-hash.ts"
import { errorMessage } from "../../../base/system-error.ts"
import type { CommandExit } from "../../../exec/workspace.ts"
import type { ToolContext } from "../../../toolkit/tool.ts"
import { javascriptArguments, javascriptFiles, TOOLS_PACKAGE } from "../clients/javascript-client.ts"
import { pythonArguments, pythonFiles } from "../clients/python-client.ts"
import type { ScriptRun } from "../script-run.ts"
import { notStarted, shortenPaths, signalOf } from "../script-end.ts"
import type { ScriptEnd } from "../script-end.ts"
import { startTimeLimit, type TimeLimit } from "../time-limit.ts"
import { serveSpool } from "./spool.ts"

const TOKEN_BYTES = 32
const SHORT_COMMAND_MS = 30_000
/** The longest time that a timer can wait; the limit of the script ends it earlier. */
const NO_LIMIT_MS = 2 ** 31 - 1

/** Runs a script where the commands of the session run: in its container or on its host. Calls and answers are files there. */
export async function runInBackend(run: ScriptRun, context: ToolContext): Promise<ScriptEnd> {
  const { workspace } = context
  const temporary = await workspace.files.temporaryDirectory?.()
  if (temporary === undefined) return notStarted("Scripts cannot run in this workspace.")
  const directory = posix.join(temporary, `hermes_sandbox_${randomHex(8)}`)
  const isProject = run.settings.mode === "project"
  const cwd = isProject ? workspace.cwd() : directory
  const token = randomHex(TOKEN_BYTES)
  const spool = posix.join(directory, "spool")
  const ended = new AbortController()
  let limit: TimeLimit | undefined
  try {
    const files = {
      ...scriptFiles(run, isProject ? cwd : undefined),
      "run.sh": startScript(run, { directory, cwd, token }),
    }
    await writeFiles(files, directory, context)
    limit = startTimeLimit(run.seconds * 1000, run.port)
    const running = workspace.run(`sh ${quoted(posix.join(directory, "run.sh"))}`, {
      cwd,
      timeoutMs: NO_LIMIT_MS,
      signal: AbortSignal.any([context.signal, limit.signal]),
      keepChars: run.settings.maxStdoutBytes,
    })
    const serving = serveSpool(spool, {
      token,
      handle: (request) => run.calls.handle(request),
      workspace,
      signal: ended.signal,
    })
    const exit = await running.exit
    const isTimedOut = limit.signal.aborted && !context.signal.aborted
    ended.abort()
    await serving
    const stderr = await shell(`head -c ${run.settings.maxStderrBytes} ${quoted(`${directory}/stderr`)}`, context)
    return endOf(isTimedOut ? { ...exit, how: "timed-out" } : exit, shortenPaths(stderr, directory))
  } catch (error) {
    return notStarted(`The script could not be started: ${errorMessage(error)}`)
  } finally {
    limit?.clear()
    ended.abort()
    await shell(`rm -rf ${quoted(directory)}`, context)
  }
}

function scriptFiles(
  { code, language, port: { tools } }: ScriptRun,
  projectDirectory: string | undefined,
): Readonly<Record<string, string>> {
  if (language === "python") return pythonFiles(code, tools)
  return { ...javascriptFiles(code, { language, tools, projectDirectory }), ...TOOLS_PACKAGE }
}

/** The variables of the workspace that scripts get; all others stay away from them. */
const VARIABLES = "PATH HOME USER LOGNAME SHELL LANG LC_ALL TERM TZ TMPDIR VIRTUAL_ENV CONDA_PREFIX NODE_PATH".split(
  " ",
)

function startScript(
  { language, settings }: ScriptRun,
  place: { readonly directory: string; readonly cwd: string; readonly token: string },
): string {
  const program = language === "python" ? "python3" : "node"
  const args = language === "python" ? pythonArguments(place.directory) : javascriptArguments(place.directory, settings)
  const modules = settings.mode === "project" ? place.cwd : ""
  return `command -v ${program} >/dev/null || { echo '${program} was not found in the workspace' 2>/dev/null >${quoted(`${place.directory}/stderr`)}; exit 127; }
exec env -i ${VARIABLES.map((name) => `\${${name}+${name}="$${name}"}`).join(" ")} \\
  HERMES_RPC_SOCKET=${quoted(`spool:${place.directory}/spool`)} HERMES_RPC_TOKEN=${place.token} \\
  PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PYTHONPATH=${quoted(modules)} \\
  ${[program, ...args].map(quoted).join(" ")} </dev/null 2>${quoted(`${place.directory}/stderr`)}
`
}

async function writeFiles(
  files: Readonly<Record<string, string>>,
  directory: string,
  context: ToolContext,
): Promise<void> {
  await shell(`mkdir -p ${quoted(`${directory}/spool`)} && chmod 700 ${quoted(directory)}`, context)
  const { workspace } = context
  await Promise.all(
    Object.entries(files).map(([name, text]) => workspace.files.write(posix.join(directory, name), text)),
  )
}

/** Runs one of our own commands, also after an interrupt. */
async function shell(command: string, { workspace }: ToolContext): Promise<string> {
  const running = workspace.run(command, {
    timeoutMs: SHORT_COMMAND_MS,
    signal: new AbortController().signal,
    keepChars: 100_000,
  })
  return (await running.exit).output
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function endOf(exit: CommandExit, stderr: string): ScriptEnd {
  const output = { stdout: exit.output, stderr }
  switch (exit.how) {
    case "timed-out":
      return { how: "timeout", ...output }
    case "interrupted":
      return { how: "interrupted", ...output }
    case "failed-to-start":
      return { how: "error", error: `The script could not be started: ${exit.error ?? "unknown reason"}`, ...output }
    case "exited": {
      const signal = signalOf(exit.code)
      return { how: "exited", code: exit.code, ...(signal === undefined ? {} : { signal }), ...output }
    }
    default:
      return assertNever(exit.how)
  }
}

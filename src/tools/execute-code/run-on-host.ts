import { join } from "node:path"

import { findProgram, isProgram } from "../../base/find-program.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Programs, StartedProgram } from "../../exec/programs/programs.ts"
import { createStagingDirectory } from "../../exec/programs/staging-directory.ts"
import type { ToolContext } from "../../toolkit/tool.ts"
import { BoundedBytes } from "./bounded-bytes.ts"
import { javascriptArguments, javascriptFiles } from "./clients/javascript-client.ts"
import { pythonArguments, pythonFiles } from "./clients/python-client.ts"
import { serveConnection } from "./rpc.ts"
import type { ScriptRun } from "./script-run.ts"
import { startTimeLimit } from "./time-limit.ts"
import { notStarted, shortenPaths, signalOf } from "./script-end.ts"
import type { ScriptEnd } from "./script-end.ts"

/** The first descriptor after standard input, output and error. */
const FIRST_CHANNEL = 3
/** One for each thread of Node that may call tools. Threads of Python share one. */
const CHANNELS = { javascript: 4, typescript: 4, python: 1 } as const
const TOKEN_BYTES = 32
/** After an interrupt the user waits. */
const INTERRUPT_GRACE_MS = 1000

/** Runs a script on this machine, in the sandbox if there is one. Removes everything that it needed, however it ends. */
export async function runOnHost(run: ScriptRun, context: ToolContext): Promise<ScriptEnd> {
  const { programs } = context.workspace
  if (programs === undefined) return notStarted("Scripts cannot run in this workspace.")
  // The directory of a session elsewhere does not exist on this machine.
  const isProject = run.settings.mode === "project" && context.workspace.kind === "local"
  const directory = isProject ? context.workspace.cwd() : undefined
  const environment = await programs.environment()
  const interpreter = run.language === "python" ? findPython(environment, isProject) : process.execPath
  if (interpreter === undefined)
    return notStarted("python3 was not found on this machine. Available languages: javascript, typescript.")
  const files =
    run.language === "python"
      ? pythonFiles(run.code, run.port.tools)
      : javascriptFiles(run.code, { language: run.language, tools: run.port.tools, projectDirectory: directory })
  const staging = createStagingDirectory(files)
  try {
    const token = randomHex(TOKEN_BYTES)
    const program = await programs.start({
      commandLine: [interpreter, ...interpreterArguments(run, staging.path)],
      cwd: directory ?? staging.path,
      privateDirectory: staging.path,
      channels: CHANNELS[run.language],
      environment: {
        HERMES_RPC_SOCKET: `fd:${FIRST_CHANNEL}`,
        HERMES_RPC_TOKEN: token,
        ...(run.language === "python" ? pythonVariables(environment, directory) : {}),
      },
    })
    for (const channel of program.channels)
      serveConnection(channel, { token, handle: (request) => run.calls.handle(request) })
    const end = await waitForEnd(program, run, context)
    return { ...end, stderr: shortenPaths(end.stderr, staging.path) }
  } catch (error) {
    return notStarted(`The script could not be started: ${errorMessage(error)}`)
  } finally {
    staging.remove()
  }
}

function interpreterArguments({ language, settings }: ScriptRun, directory: string): readonly string[] {
  return language === "python" ? pythonArguments(directory) : javascriptArguments(directory, settings)
}

type Variables = Awaited<ReturnType<Programs["environment"]>>

/** In a project its virtual environment comes first. */
function findPython(environment: Variables, isProject: boolean): string | undefined {
  const own = ["VIRTUAL_ENV", "CONDA_PREFIX"].flatMap((name) => {
    const root = environment[name]
    const path = root === undefined || root === "" ? undefined : join(root, "bin", "python3")
    return path !== undefined && isProgram(path) ? [path] : []
  })
  return (isProject ? own[0] : undefined) ?? findProgram("python3", environment["PATH"] ?? "")
}

function pythonVariables(environment: Variables, directory: string | undefined): Record<string, string> {
  const modules = [directory, directory === undefined ? undefined : environment["PYTHONPATH"]].filter(
    (path) => path !== undefined && path !== "",
  )
  return { PYTHONDONTWRITEBYTECODE: "1", PYTHONUNBUFFERED: "1", PYTHONPATH: modules.join(":") }
}

async function waitForEnd(program: StartedProgram, run: ScriptRun, { signal }: ToolContext): Promise<ScriptEnd> {
  const stdout = new BoundedBytes(run.settings.maxStdoutBytes)
  const stderr = new BoundedBytes(run.settings.maxStderrBytes, { headShare: 1 })
  program.stdout.on("data", (chunk: Buffer) => {
    stdout.push(chunk)
  })
  program.stderr.on("data", (chunk: Buffer) => {
    stderr.push(chunk)
  })
  let stopped: "timeout" | "interrupted" | undefined
  let killing: NodeJS.Timeout | undefined
  const stop = (why: "timeout" | "interrupted"): void => {
    stopped ??= why
    program.terminate()
  }
  const onAbort = (): void => {
    stop("interrupted")
    killing = setTimeout(() => {
      program.kill()
    }, INTERRUPT_GRACE_MS)
  }
  const limit = startTimeLimit(run.seconds * 1000, run.port)
  limit.signal.addEventListener("abort", () => {
    stop("timeout")
  })
  signal.addEventListener("abort", onAbort, { once: true })
  if (signal.aborted) onAbort()
  const { code, signal: killedBy, notStarted: reason } = await program.exit
  limit.clear()
  clearTimeout(killing)
  signal.removeEventListener("abort", onAbort)
  const output = { stdout: stdout.toString(), stderr: stderr.toString() }
  if (stopped !== undefined) return { how: stopped, ...output }
  if (reason !== undefined) return { how: "error", error: `The script could not be started: ${reason}`, ...output }
  const ended = killedBy ?? signalOf(code)
  return { how: "exited", code, ...(ended === undefined ? {} : { signal: ended }), ...output }
}

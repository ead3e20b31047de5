import { quoteForShell } from "../../base/quote-for-shell.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { createCloudWorkspace } from "../remote/cloud-sandbox.ts"
import type { CloudSandboxOptions } from "../remote/cloud-sandbox.ts"
import { FAILING_COMMAND_LINE } from "../remote/idle-timeout.ts"
import type { IdleTimeout } from "../remote/idle-timeout.ts"
import type { Transport } from "../remote/transport.ts"
import { findClientProgram } from "../client-program.ts"
import type { ClientProgram } from "../client-program.ts"
import { lastLine, runProgram } from "../run-program.ts"
import type { Workspace } from "../workspace.ts"

export interface DaytonaOptions extends CloudSandboxOptions {
  readonly diskMb: number
}

const DAYTONA: ClientProgram = {
  names: ["daytona"],
  variable: "HERMES_DAYTONA_BINARY",
  missing: "the daytona program is not installed; install it, or set terminal.backend to local",
}

const CREATE_TIMEOUT_MS = 300_000
const MAX_DISK_GB = 10
/** The service kills a command after this time. Hermes enforces its own, much shorter timeouts. */
const SERVICE_TIMEOUT_SECONDS = 86_400

/** Opens a Daytona sandbox through the `daytona` program: starts the existing one with the task's name, or creates it. */
export async function openDaytonaWorkspace(options: DaytonaOptions): Promise<Result<Workspace>> {
  const found = findClientProgram(DAYTONA, options.clientEnvironment)
  if (!found.ok) return found
  const program = found.value
  const name = `hermes-${options.taskId}`
  const runDaytona = async (args: readonly string[], signal = options.signal) =>
    await runProgram([program, ...args], {
      environment: options.clientEnvironment,
      signal,
      timeoutMs: CREATE_TIMEOUT_MS,
    })
  const known = await runDaytona(["info", name])
  if (known.notStarted !== undefined) return fail(`${program} cannot be started: ${known.notStarted}`)
  if (/unauthori[sz]ed|not logged in|no active profile|api key/i.test(known.stderr)) {
    return fail("you are not logged in to Daytona; run `daytona login` or set DAYTONA_API_KEY")
  }
  const startOrCreate = async (exists: boolean, signal: AbortSignal): Promise<Result<undefined>> => {
    const result = await runDaytona(exists ? ["start", name] : createArguments(options, name), signal)
    return result.code === 0
      ? ok(undefined)
      : fail(`the Daytona sandbox could not be started: ${lastLine(result.stderr)}`)
  }
  const started = await startOrCreate(known.code === 0, options.signal)
  if (!started.ok) return started
  return await createCloudWorkspace(
    {
      kind: "daytona",
      suspend: async () => {
        await runDaytona([options.isPersistent ? "stop" : "delete", name], new AbortController().signal)
      },
      resume: async (signal) => await startOrCreate(options.isPersistent, signal),
      transport: (idleTimeout) => sandboxTransport(name, { ...options, idleTimeout, program }),
    },
    options,
  )
}

function createArguments(options: DaytonaOptions, name: string): readonly string[] {
  const requestedGb = Math.ceil(options.diskMb / 1024)
  if (requestedGb > MAX_DISK_GB) {
    options.log.warning(
      `Daytona allows at most ${MAX_DISK_GB} GB of disk; terminal.container_disk requests ${requestedGb}`,
    )
  }
  return [
    "create",
    "--name",
    name,
    "--snapshot",
    options.image,
    ...(options.cpus > 0 ? ["--cpu", String(Math.ceil(options.cpus))] : []),
    ...(options.memoryMb > 0 ? ["--memory", String(options.memoryMb)] : []),
    ...(requestedGb > 0 ? ["--disk", String(Math.min(requestedGb, MAX_DISK_GB))] : []),
    "--auto-stop",
    "0",
  ]
}

/**
 * The `daytona` program has no stdin, merges stdout and stderr into one text, and splits arguments by its own rules. Therefore the whole
 * script is passed as one base64 word without quotes.
 */
function sandboxTransport(
  name: string,
  {
    clientEnvironment,
    idleTimeout,
    program,
  }: Pick<DaytonaOptions, "clientEnvironment"> & { readonly idleTimeout: IdleTimeout; readonly program: string },
): Transport {
  return {
    name: `daytona sandbox ${name}`,
    environment: clientEnvironment,
    pipesInput: false,
    isTextOnly: true,
    commandLine: (script, args) => {
      if (idleTimeout.isSuspended()) return FAILING_COMMAND_LINE
      idleTimeout.touch()
      const scriptWithArguments = `set -- ${args.map(quoteForShell).join(" ")}\n${script}`
      const word = Buffer.from(scriptWithArguments).toString("base64")
      const evaluate = `eval "$(printf %s ${word} | base64 -d)"`
      return [program, "exec", name, "--timeout", String(SERVICE_TIMEOUT_SECONDS), "--", "sh", "-c", evaluate]
    },
    explain: ({ notStarted, stderr }) =>
      `the Daytona sandbox ${name} did not respond: ${notStarted ?? lastLine(stderr)}`,
    reopen: async (_failure, signal) => await idleTimeout.resume(signal),
  }
}

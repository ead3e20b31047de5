import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { askClient, lastLine } from "../remote/client-process.ts"
import { NOBODY_THERE } from "../remote/idle-watch.ts"
import type { IdleWatch } from "../remote/idle-watch.ts"
import { workspaceInRented } from "../remote/rented-sandbox.ts"
import type { RentedSandboxOptions } from "../remote/rented-sandbox.ts"
import type { Transport } from "../remote/transport.ts"
import { quote } from "../shell-state.ts"
import type { Workspace } from "../workspace.ts"

export interface DaytonaOptions extends RentedSandboxOptions {
  readonly diskMb: number
}

const CREATE_MS = 300_000
const MAX_DISK_GB = 10
/** The service ends a command that runs for longer than it was told; ours end by their own limit long before. */
const COMMAND_SECONDS = 86_400

/** A sandbox of the Daytona service, through its command line: found by name and started, or made. */
export async function openDaytonaWorkspace(options: DaytonaOptions): Promise<Result<Workspace>> {
  const name = `hermes-${options.taskId}`
  const ask = async (args: readonly string[], signal = options.signal) =>
    await askClient(["daytona", ...args], { environment: options.clientEnvironment, signal, timeoutMs: CREATE_MS })
  const known = await ask(["info", name])
  if (known.notStarted !== undefined) {
    return fail("the daytona program is not installed; install it, or set terminal.backend to local")
  }
  if (/unauthori[sz]ed|not logged in|no active profile|api key/i.test(known.stderr)) {
    return fail("Daytona does not know who you are; run `daytona login` or set DAYTONA_API_KEY")
  }
  const begin = async (exists: boolean, signal: AbortSignal): Promise<Result<undefined>> => {
    const begun = await ask(exists ? ["start", name] : createArguments(options, name), signal)
    return begun.code === 0
      ? ok(undefined)
      : fail(`the Daytona sandbox could not be started: ${lastLine(begun.stderr)}`)
  }
  const begun = await begin(known.code === 0, options.signal)
  if (!begun.ok) return begun
  return await workspaceInRented(
    {
      kind: "daytona",
      giveUp: async () => {
        await ask([options.isPersistent ? "stop" : "delete", name], new AbortController().signal)
      },
      wake: async (signal) => await begin(options.isPersistent, signal),
      transport: (watch) => sandboxTransport(name, { ...options, watch }),
    },
    options,
  )
}

function createArguments(options: DaytonaOptions, name: string): readonly string[] {
  const wantedGb = Math.ceil(options.diskMb / 1024)
  if (wantedGb > MAX_DISK_GB) {
    options.log.warning(`Daytona gives at most ${MAX_DISK_GB} GB of disk; terminal.container_disk asks for ${wantedGb}`)
  }
  return [
    "create",
    "--name",
    name,
    "--snapshot",
    options.image,
    ...(options.cpus > 0 ? ["--cpu", String(Math.ceil(options.cpus))] : []),
    ...(options.memoryMb > 0 ? ["--memory", String(options.memoryMb)] : []),
    ...(wantedGb > 0 ? ["--disk", String(Math.min(wantedGb, MAX_DISK_GB))] : []),
    "--auto-stop",
    "0",
  ]
}

/**
 * The command line has no standard input, gives output and errors back as one text, and splits arguments in its own way: so the whole
 * script travels as one word without any quotes.
 */
function sandboxTransport(
  name: string,
  { clientEnvironment, watch }: Pick<DaytonaOptions, "clientEnvironment"> & { readonly watch: IdleWatch },
): Transport {
  return {
    name: `daytona sandbox ${name}`,
    environment: clientEnvironment,
    pipesInput: false,
    isTextOnly: true,
    commandLine: (script, args) => {
      if (watch.isResting()) return NOBODY_THERE
      watch.touch()
      const whole = `set -- ${args.map(quote).join(" ")}\n${script}`
      const word = Buffer.from(whole).toString("base64")
      const evaluate = `eval "$(printf %s ${word} | base64 -d)"`
      return ["daytona", "exec", name, "--timeout", String(COMMAND_SECONDS), "--", "sh", "-c", evaluate]
    },
    explain: ({ notStarted, stderr }) =>
      `the Daytona sandbox ${name} did not answer: ${notStarted ?? lastLine(stderr)}`,
    reopen: async (_failure, signal) => await watch.wake(signal),
  }
}

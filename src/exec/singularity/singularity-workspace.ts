import { existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"

import { withFileLock } from "../../base/file-lock.ts"
import { sha256Hex } from "../../base/random-and-hash.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { ReadOnlyBind } from "../container/container-arguments.ts"
import { createRemoteWorkspace } from "../remote/remote-workspace.ts"
import type { SyncRequest } from "../remote/remote-workspace.ts"
import type { Transport } from "../remote/transport.ts"
import { readWorkspaceFacts } from "../remote/workspace-facts.ts"
import { findClientProgram } from "../client-program.ts"
import type { ClientProgram } from "../client-program.ts"
import { lastLine, runProgram } from "../run-program.ts"
import type { Workspace } from "../workspace.ts"

export interface SingularityOptions {
  readonly clientEnvironment: Readonly<Record<string, string>>
  /** `docker://…`, another URI that Apptainer supports, or a `.sif` file. */
  readonly image: string
  readonly taskId: string
  /** `<home>/sandboxes/singularity`: overlays, built images and their locks. */
  readonly sandboxes: string
  /** Credential files, skills and caches that commands may read. */
  readonly readOnlyBinds?: readonly ReadOnlyBind[]
  readonly isPersistent: boolean
  /** Another session of this process uses the instance and stops it. */
  readonly isBorrowed?: boolean
  readonly cpus: number
  readonly memoryMb: number
  /** For files that cannot be mounted, because they are provided while the instance runs. */
  readonly sync?: SyncRequest
  readonly startupFiles?: readonly string[] | undefined
  readonly persistentShell?: boolean | undefined
  readonly signal: AbortSignal
}

const APPTAINER: ClientProgram = {
  names: ["apptainer", "singularity"],
  variable: "HERMES_SINGULARITY_BINARY",
  missing: "neither apptainer nor singularity is installed; install one, or set terminal.backend to local",
}

const BUILD_TIMEOUT_MS = 600_000
const START_TIMEOUT_MS = 60_000

/** Starts an instance of the image and opens it as a workspace. Prefers `apptainer` over `singularity`. */
export async function openSingularityWorkspace(options: SingularityOptions): Promise<Result<Workspace>> {
  const found = findClientProgram(APPTAINER, options.clientEnvironment)
  if (!found.ok) return found
  const program = found.value
  const runEngine = async (args: readonly string[], timeoutMs: number, signal = options.signal) =>
    await runProgram([program, ...args], { environment: options.clientEnvironment, signal, timeoutMs })
  const image = await builtImage(options, async (args) => await runEngine(args, BUILD_TIMEOUT_MS))
  if (!image.ok) return image
  const file = image.value
  const name = `hermes-${options.taskId}`
  const overlay = options.isPersistent ? join(options.sandboxes, options.taskId, "overlay") : undefined
  if (overlay !== undefined) mkdirSync(overlay, { recursive: true })
  const started = options.isBorrowed === true ? ok(undefined) : await startInstance()
  if (!started.ok) return started
  const transport = instanceTransport(program, name, options.clientEnvironment)
  const facts = await readWorkspaceFacts(transport, { signal: options.signal, timeoutMs: START_TIMEOUT_MS })
  if (!facts.ok) return facts
  return ok(
    createRemoteWorkspace({
      kind: "singularity",
      isContainer: true,
      transport,
      facts: facts.value,
      cwd: facts.value.cwd,
      startupFiles: options.startupFiles,
      persistentShell: options.persistentShell,
      sync: options.sync,
      release: async () => {
        if (options.isBorrowed === true) return
        await runEngine(["instance", "stop", name], START_TIMEOUT_MS, new AbortController().signal)
      },
    }),
  )

  async function startInstance(): Promise<Result<undefined>> {
    const limits = limitArguments(options)
    const binds = options.readOnlyBinds ?? []
    let run = await runEngine(startArguments({ overlay, binds, limits, image: file, name }), START_TIMEOUT_MS)
    // Limits need permissions that many clusters do not grant: without them, start without limits.
    if (run.code !== 0 && limits.length > 0) {
      run = await runEngine(startArguments({ overlay, binds, limits: [], image: file, name }), START_TIMEOUT_MS)
    }
    if (run.code !== 0) return fail(`the instance could not be started: ${lastLine(run.stderr)}`)
    return ok(undefined)
  }
}

interface InstancePlan {
  readonly overlay: string | undefined
  readonly binds: readonly ReadOnlyBind[]
  readonly limits: readonly string[]
  readonly image: string
  readonly name: string
}

function startArguments({ overlay, binds, limits, image, name }: InstancePlan): readonly string[] {
  const storage = overlay === undefined ? ["--writable-tmpfs"] : ["--overlay", overlay]
  const bound = binds.flatMap(({ source, target }) => ["--bind", `${source}:${target}:ro`])
  return ["instance", "start", "--containall", "--no-home", ...storage, ...bound, ...limits, image, name]
}

function limitArguments({ cpus, memoryMb }: SingularityOptions): readonly string[] {
  return [...(memoryMb > 0 ? ["--memory", `${memoryMb}M`] : []), ...(cpus > 0 ? ["--cpus", String(cpus)] : [])]
}

/** Converts an image from a registry to a `.sif` file once. A lock keeps two processes from converting it at the same time. */
async function builtImage(
  { image, sandboxes, signal }: SingularityOptions,
  build: (args: readonly string[]) => Promise<{ readonly code: number; readonly stderr: string }>,
): Promise<Result<string>> {
  if (!image.includes("://")) return existsSync(image) ? ok(image) : fail(`the image ${image} does not exist`)
  const directory = join(sandboxes, "images")
  const file = join(directory, `${sha256Hex(image).slice(0, 16)}.sif`)
  try {
    mkdirSync(directory, { recursive: true })
    return await withFileLock(`${file}.lock`, { waitMs: BUILD_TIMEOUT_MS, signal }, async () => {
      if (existsSync(file)) return ok(file)
      const built = await build(["build", file, image])
      return built.code === 0 ? ok(file) : fail(`the image ${image} cannot be built: ${lastLine(built.stderr)}`)
    })
  } catch (error) {
    return fail(`the image ${image} cannot be built: ${errorMessage(error)}`)
  }
}

function instanceTransport(program: string, name: string, environment: Readonly<Record<string, string>>): Transport {
  return {
    name: `instance ${name}`,
    environment,
    pipesInput: true,
    commandLine: (script, args) => [program, "exec", `instance://${name}`, "sh", "-c", script, "hermes", ...args],
    explain: ({ notStarted, stderr }) => `the instance ${name} did not respond: ${notStarted ?? lastLine(stderr)}`,
  }
}

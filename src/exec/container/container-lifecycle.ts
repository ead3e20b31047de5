import type { Clock } from "../../base/clock.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { labelFilters, runArguments } from "./container-arguments.ts"
import type { ContainerPlan } from "./container-arguments.ts"
import { failureReason } from "./container-engine.ts"
import type { ContainerEngine } from "./container-engine.ts"

/** Allows for a large image over a slow connection. */
const PULL_TIMEOUT_MS = 1_800_000
const START_TIMEOUT_MS = 120_000

/**
 * Returns the id of a running container for the task: the existing one, restarted if it was stopped, or a new one. The caller must hold
 * the task's lock.
 */
export async function ensureContainer(
  engine: ContainerEngine,
  plan: ContainerPlan,
  signal: AbortSignal,
): Promise<Result<string>> {
  const found = await findContainer(engine, plan, signal)
  if (!found.ok) return found
  if (found.value?.isRunning === true) return ok(found.value.id)
  if (found.value !== undefined) {
    const started = await engine.run(["start", found.value.id], { signal, timeoutMs: START_TIMEOUT_MS })
    if (started.code === 0) return ok(found.value.id)
    // It cannot be restarted: replace it.
    await removeContainer(engine, found.value.id, signal)
  }
  return await createContainer(engine, plan, signal)
}

/** Pulls the image if it is missing and inspects it. */
export async function inspectImage(
  engine: ContainerEngine,
  image: string,
  signal: AbortSignal,
): Promise<Result<{ readonly hasOwnInit: boolean }>> {
  const entrypoint = ["image", "inspect", "--format", "{{json .Config.Entrypoint}}", image]
  let inspected = await engine.run(entrypoint, { signal })
  if (inspected.code !== 0) {
    const pulled = await engine.run(["pull", image], { signal, timeoutMs: PULL_TIMEOUT_MS })
    if (pulled.code !== 0) {
      return fail(
        `the image ${image} cannot be pulled: ${failureReason(pulled)}; check terminal.docker_image and the network`,
      )
    }
    inspected = await engine.run(entrypoint, { signal })
  }
  return ok({ hasOwnInit: /"\/(?:s6-)?init"/.test(inspected.stdout.toString("utf8")) })
}

/** Tries whether the storage driver can limit a container's disk: it cannot be queried. */
export async function canLimitDisk(engine: ContainerEngine, image: string, signal: AbortSignal): Promise<boolean> {
  const created = await engine.run(["create", "--storage-opt", "size=1024m", image, "true"], { signal })
  const id = created.stdout.toString("utf8").trim().split("\n").at(-1) ?? ""
  if (created.code !== 0 || id === "") return false
  await removeContainer(engine, id, signal)
  return true
}

/** Removes containers of this profile that stopped long ago, never those of another profile. Returns how many. */
export async function reapOrphans(
  engine: ContainerEngine,
  options: {
    readonly profile: string
    readonly olderThanMs: number
    readonly clock: Clock
    readonly signal: AbortSignal
  },
): Promise<number> {
  const filters = [...labelFilters({ profile: options.profile }), "--filter", "status=exited"]
  const listed = await engine.run(["ps", "--all", ...filters, "--format", "{{.ID}}"], { signal: options.signal })
  let removed = 0
  for (const id of listed.code === 0 ? lines(listed.stdout) : []) {
    const inspected = await engine.run(["inspect", "--format", "{{json .State.FinishedAt}}", id], {
      signal: options.signal,
    })
    const finished = Date.parse(inspected.stdout.toString("utf8").trim().replaceAll('"', ""))
    if (inspected.code !== 0 || !(options.clock.now() - finished > options.olderThanMs)) continue
    if (await removeContainer(engine, id, options.signal)) removed += 1
  }
  return removed
}

export async function removeContainer(engine: ContainerEngine, id: string, signal: AbortSignal): Promise<boolean> {
  return (await engine.run(["rm", "--force", id], { signal, timeoutMs: 30_000 })).code === 0
}

export async function stopContainer(engine: ContainerEngine, id: string, signal: AbortSignal): Promise<boolean> {
  return (await engine.run(["stop", "-t", "10", id], { signal, timeoutMs: 30_000 })).code === 0
}

export async function isHealthy(engine: ContainerEngine, id: string, signal: AbortSignal): Promise<boolean> {
  const inspected = await engine.run(["inspect", "--format", "{{.State.Running}}", id], { signal, timeoutMs: 10_000 })
  return inspected.code === 0 && inspected.stdout.toString("utf8").trim() === "true"
}

/** Finds the container by its name, which contains a hash of its settings: one with other settings does not match. */
async function findContainer(engine: ContainerEngine, plan: ContainerPlan, signal: AbortSignal) {
  const listed = await engine.run(
    ["ps", "--all", ...labelFilters(plan), "--format", "{{.ID}}\t{{.Names}}\t{{.State}}"],
    { signal },
  )
  if (listed.code !== 0) return fail(`the containers cannot be listed: ${failureReason(listed)}`)
  const found = lines(listed.stdout)
    .map((line) => line.split("\t"))
    .find(([, name]) => name === plan.name)
  const [id, , state = ""] = found ?? []
  return ok(id === undefined ? undefined : { id, isRunning: /^(?:running|up)/i.test(state) })
}

async function createContainer(
  engine: ContainerEngine,
  plan: ContainerPlan,
  signal: AbortSignal,
): Promise<Result<string>> {
  const created = await engine.run(runArguments(plan), { signal, timeoutMs: START_TIMEOUT_MS })
  const id = lines(created.stdout).at(-1)
  if (created.code === 0 && id !== undefined) return ok(id)
  // A partly created container would be found next time and could not be started either.
  await removeContainer(engine, plan.name, new AbortController().signal)
  return fail(`the container could not be started: ${failureReason(created)}`)
}

function lines(stdout: Buffer): readonly string[] {
  return stdout
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "")
}

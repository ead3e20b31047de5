import type { Clock } from "../../base/clock.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { labelFilters, runArguments } from "./container-arguments.ts"
import type { ContainerPlan } from "./container-arguments.ts"
import { reasonOf } from "./container-engine.ts"
import type { ContainerEngine } from "./container-engine.ts"

/** A large image over a slow link. */
const PULL_MS = 1_800_000
const RUN_MS = 120_000

/**
 * Gives the id of a running container for the task: the one that is there, started again when it was stopped, or a new one. Whoever
 * calls holds the task's lock.
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
    const started = await engine.ask(["start", found.value.id], { signal, timeoutMs: RUN_MS })
    if (started.code === 0) return ok(found.value.id)
    // One that cannot be started again is of no use to anybody.
    await removeContainer(engine, found.value.id, signal)
  }
  return await createContainer(engine, plan, signal)
}

/** Pulls the image when it is not here and finds out what the plan must know about it. */
export async function inspectImage(
  engine: ContainerEngine,
  image: string,
  signal: AbortSignal,
): Promise<Result<{ readonly hasOwnInit: boolean }>> {
  const entrypoint = ["image", "inspect", "--format", "{{json .Config.Entrypoint}}", image]
  let answer = await engine.ask(entrypoint, { signal })
  if (answer.code !== 0) {
    const pulled = await engine.ask(["pull", image], { signal, timeoutMs: PULL_MS })
    if (pulled.code !== 0) {
      return fail(`the image ${image} cannot be had: ${reasonOf(pulled)}; check terminal.docker_image and the network`)
    }
    answer = await engine.ask(entrypoint, { signal })
  }
  return ok({ hasOwnInit: /"\/(?:s6-)?init"/.test(answer.stdout.toString("utf8")) })
}

/** Whether the storage driver can limit a container's disk; only trying tells. */
export async function canLimitDisk(engine: ContainerEngine, image: string, signal: AbortSignal): Promise<boolean> {
  const created = await engine.ask(["create", "--storage-opt", "size=1024m", image, "true"], { signal })
  const id = created.stdout.toString("utf8").trim().split("\n").at(-1) ?? ""
  if (created.code !== 0 || id === "") return false
  await removeContainer(engine, id, signal)
  return true
}

/** Removes stopped containers of this profile that nobody has used for long. Never those of another profile. Gives how many. */
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
  const listed = await engine.ask(["ps", "--all", ...filters, "--format", "{{.ID}}"], { signal: options.signal })
  let removed = 0
  for (const id of listed.code === 0 ? lines(listed.stdout) : []) {
    const inspected = await engine.ask(["inspect", "--format", "{{json .State.FinishedAt}}", id], {
      signal: options.signal,
    })
    const finished = Date.parse(inspected.stdout.toString("utf8").trim().replaceAll('"', ""))
    if (inspected.code !== 0 || !(options.clock.now() - finished > options.olderThanMs)) continue
    if (await removeContainer(engine, id, options.signal)) removed += 1
  }
  return removed
}

export async function removeContainer(engine: ContainerEngine, id: string, signal: AbortSignal): Promise<boolean> {
  return (await engine.ask(["rm", "--force", id], { signal, timeoutMs: 30_000 })).code === 0
}

export async function stopContainer(engine: ContainerEngine, id: string, signal: AbortSignal): Promise<boolean> {
  return (await engine.ask(["stop", "-t", "10", id], { signal, timeoutMs: 30_000 })).code === 0
}

export async function isHealthy(engine: ContainerEngine, id: string, signal: AbortSignal): Promise<boolean> {
  const answer = await engine.ask(["inspect", "--format", "{{.State.Running}}", id], { signal, timeoutMs: 10_000 })
  return answer.code === 0 && answer.stdout.toString("utf8").trim() === "true"
}

/** The name says which settings it was made with: a container made with others is not this one. */
async function findContainer(engine: ContainerEngine, plan: ContainerPlan, signal: AbortSignal) {
  const answer = await engine.ask(
    ["ps", "--all", ...labelFilters(plan), "--format", "{{.ID}}\t{{.Names}}\t{{.State}}"],
    { signal },
  )
  if (answer.code !== 0) return fail(`the containers cannot be listed: ${reasonOf(answer)}`)
  const found = lines(answer.stdout)
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
  const answer = await engine.ask(runArguments(plan), { signal, timeoutMs: RUN_MS })
  const id = lines(answer.stdout).at(-1)
  if (answer.code === 0 && id !== undefined) return ok(id)
  // A half-made container would be found next time and could not be started either.
  await removeContainer(engine, plan.name, new AbortController().signal)
  return fail(`the container could not be started: ${reasonOf(answer)}`)
}

function lines(stdout: Buffer): readonly string[] {
  return stdout
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "")
}

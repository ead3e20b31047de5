import { posix } from "node:path"

/** Everything that determines the arguments of `docker run`. */
export interface ContainerPlan {
  readonly name: string
  readonly image: string
  /** The image has its own init program (s6). */
  readonly hasOwnInit: boolean
  readonly cpus: number
  readonly memoryMb: number
  /** Undefined when the storage driver cannot limit the disk. */
  readonly diskMb: number | undefined
  readonly network: boolean
  /** `uid:gid` when commands run as the host user instead of root. */
  readonly hostUser: string | undefined
  readonly taskId: string
  readonly profile: string
  readonly storage: ContainerStorage
  /** A host directory to mount at `/workspace`, if the user configured one. */
  readonly workspaceBind: string | undefined
  readonly readOnlyBinds: readonly ReadOnlyBind[]
  /** `source:target[:options]`, validated. */
  readonly volumes: readonly string[]
  readonly variables: Readonly<Record<string, string>>
  readonly extraArguments: readonly string[]
}

export type ContainerStorage =
  | { readonly kind: "kept"; readonly home: string; readonly workspace: string }
  | { readonly kind: "temporary" }

export interface ReadOnlyBind {
  readonly source: string
  readonly target: string
}

/** Returns the arguments of `docker run`, without the program. */
export function runArguments(plan: ContainerPlan): readonly string[] {
  return [
    ...words("run --detach --name"),
    plan.name,
    ...(plan.hasOwnInit ? [] : ["--init"]),
    ...words("--cap-drop ALL --cap-add DAC_OVERRIDE --cap-add CHOWN --cap-add FOWNER"),
    ...(plan.hostUser === undefined ? words("--cap-add SETUID --cap-add SETGID") : []),
    ...words("--security-opt no-new-privileges --pids-limit 256"),
    ...words("--tmpfs /tmp:rw,nosuid,size=512m --tmpfs /var/tmp:rw,noexec,nosuid,size=256m"),
    "--tmpfs",
    plan.hasOwnInit ? "/run:rw,exec,nosuid,size=64m" : "/run:rw,noexec,nosuid,size=64m",
    ...(plan.cpus > 0 ? ["--cpus", String(plan.cpus)] : []),
    ...(plan.memoryMb > 0 ? ["--memory", `${plan.memoryMb}m`] : []),
    ...(plan.diskMb === undefined ? [] : ["--storage-opt", `size=${plan.diskMb}m`]),
    ...(plan.network ? [] : ["--network=none"]),
    ...(plan.hostUser === undefined ? [] : ["--user", plan.hostUser]),
    ...labelArguments(plan),
    ...storageArguments(plan),
    ...plan.readOnlyBinds.flatMap(({ source, target }) => ["--volume", `${source}:${target}:ro`]),
    ...plan.volumes.flatMap((volume) => ["--volume", volume]),
    ...Object.entries(plan.variables).flatMap(([name, value]) => ["--env", `${name}=${value}`]),
    ...plan.extraArguments,
    plan.image,
    "sleep",
    "infinity",
  ]
}

/** Returns `docker ps` filters for the containers that Hermes created. */
export function labelFilters(labels: { readonly profile: string; readonly taskId?: string }): readonly string[] {
  const required = ["hermes-agent=1", ...(labels.taskId === undefined ? [] : [`hermes-task-id=${labels.taskId}`])]
  return [...required, `hermes-profile=${labels.profile}`].flatMap((label) => ["--filter", `label=${label}`])
}

/** Makes a task id valid as a container label and a directory name. */
export function sanitiseTaskId(taskId: string): string {
  const name = taskId.replaceAll(/[^A-Za-z0-9_.-]/g, "-").replace(/^[.-]+/, "")
  return name === "" ? "default" : name.slice(0, 63)
}

export type VolumeCheck = { readonly kind: "accepted" } | { readonly kind: "skipped"; readonly why: string }

/** Validates a configured volume: `source:/target` with optional `:ro`, `:rw`, `:z` or `:Z`. The source is an absolute path or a volume name. */
export function checkVolume(volume: string): VolumeCheck {
  const [source = "", target = "", options, ...rest] = volume.split(":")
  if (rest.length > 0 || source === "" || !target.startsWith("/")) {
    return { kind: "skipped", why: `the volume "${volume}" does not have the form source:/target or source:/target:ro` }
  }
  if (!posix.isAbsolute(source) && !/^[A-Za-z0-9][\w.-]*$/.test(source)) {
    return { kind: "skipped", why: `the source of the volume "${volume}" must be an absolute path or a volume name` }
  }
  if (ENGINE_SOCKET_DIRECTORIES.has(posix.normalize(source).replace(/(?<=.)\/$/, ""))) {
    const why = `the volume "${volume}" would expose the container engine's socket, which gives full control of this machine`
    return { kind: "skipped", why: `${why}; to allow that, list the socket itself` }
  }
  if (options !== undefined && !/^(?:ro|rw|z|Z)(?:,(?:ro|rw|z|Z))*$/.test(options)) {
    return { kind: "skipped", why: `the volume "${volume}" has unknown options; use ro or rw` }
  }
  return { kind: "accepted" }
}

/** Directories that contain the socket of a container engine on most machines. */
const ENGINE_SOCKET_DIRECTORIES = new Set(["/", "/run", "/var", "/var/run"])

export function targetOf(volume: string): string | undefined {
  return volume.split(":")[1]
}

function words(text: string): readonly string[] {
  return text.split(" ")
}

function labelArguments({ taskId, profile }: ContainerPlan): readonly string[] {
  const labels = ["hermes-agent=1", `hermes-task-id=${taskId}`, `hermes-profile=${profile}`]
  return labels.flatMap((label) => ["--label", label])
}

/** A configured volume at `/workspace`, `/home` or `/root` takes precedence over the default mount. */
function storageArguments({ storage, workspaceBind, volumes }: ContainerPlan): readonly string[] {
  const taken = new Set(volumes.map(targetOf))
  const isFree = (target: string): boolean => !taken.has(target)
  const workspace = workspaceBind === undefined ? [] : ["--volume", `${workspaceBind}:/workspace`]
  const ownWorkspace = isFree("/workspace") && workspaceBind === undefined
  if (storage.kind === "kept") {
    return [
      ...(isFree("/root") ? ["--volume", `${storage.home}:/root`] : []),
      ...(ownWorkspace ? ["--volume", `${storage.workspace}:/workspace`] : []),
      ...(isFree("/workspace") ? workspace : []),
    ]
  }
  return [
    ...(ownWorkspace ? ["--tmpfs", "/workspace:rw,exec,size=10g"] : []),
    ...(isFree("/workspace") ? workspace : []),
    ...(isFree("/home") ? ["--tmpfs", "/home:rw,exec,size=1g"] : []),
    ...(isFree("/root") ? ["--tmpfs", "/root:rw,exec,size=1g"] : []),
  ]
}

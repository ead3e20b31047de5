import { createRequire } from "node:module"
import { join } from "node:path"
import { z } from "zod"

import type { Clock } from "../base/clock.ts"
import { isRecord } from "../base/json.ts"
import type { Logger } from "../base/logger.ts"
import { errorCode } from "../base/system-error.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load-config.ts"
import { createContainment } from "./containment/containment.ts"
import type { PluginBoundary } from "./containment/containment.ts"
import type { PluginManifest } from "./contract.ts"
import { noContributions } from "./contributions.ts"
import type { Contributions } from "./contributions.ts"
import { discoverPlugins } from "./discover.ts"
import type { FoundPlugin } from "./discover.ts"
import { pluginFolders } from "./plugin-folders.ts"
import { createPluginContext } from "./plugin-context.ts"
import type { ReservedNames } from "./plugin-context.ts"
import type { PluginHost } from "./plugin-host.ts"
import { safeMessage } from "./safe-message.ts"
import { selectPlugin } from "./select.ts"

/** The plugins of one app. */
export interface LoadedPlugins {
  /** Everything that loaded plugins registered, in the order of their keys. Later registrations appear too. */
  readonly all: () => readonly Contributions[]
  /** Sentences for the user about plugins that are enabled and could not be loaded. */
  readonly problems: readonly string[]
  /** Sentences for the user about plugins that were disabled since the last call. */
  takeNotices(): readonly string[]
  connect(host: PluginHost | undefined): void
  /** Calls `deactivate` of every plugin. */
  close(): Promise<void>
  /** The last step of an exit: until then, faults of plugins are contained. */
  release(): Promise<void>
}

export interface LoadPluginsOptions {
  readonly home: Home
  readonly environment: Environment
  readonly config: Config
  readonly cwd: string
  readonly version: string
  readonly clock: Clock
  readonly log: Logger
  readonly builtins: Omit<ReservedNames, "tool">
}

const REGISTER_LIMIT_MS = 10_000
const DEACTIVATE_LIMIT_MS = 5000

interface LoadedPlugin {
  readonly key: string
  readonly name: string
  readonly contributions: Contributions
  readonly deactivate: unknown
  readonly boundary: PluginBoundary
  active: boolean
}

/** Loads the plugins that the settings enable. Never rejects: a plugin that fails leaves nothing behind but a problem. */
export async function loadPlugins(options: LoadPluginsOptions): Promise<LoadedPlugins> {
  const { environment, log } = options
  const debug = environment.truthy("HERMES_PLUGINS_DEBUG")
  const note = (text: string): void => {
    log.debug(text)
    if (debug) process.stderr.write(`plugins: ${text}\n`)
  }
  const { plugins: found, problems: unreadable } = discoverPlugins(pluginFolders(options))
  const loaded: LoadedPlugin[] = []
  const problems: string[] = [...unreadable, ...missingNames(found, options)]
  const notices: string[] = []
  const cleaning: Promise<void>[] = []
  let host: PluginHost | undefined
  const enabled: EnabledPlugin[] = []
  for (const plugin of found) {
    const state = selectPlugin(plugin, options)
    const isNamed = options.config.get("plugins.enabled").some((name) => name === plugin.key)
    note(
      `${plugin.key} (${plugin.source}, ${plugin.directory}): ${state.kind}${"reason" in state ? `, ${state.reason}` : ""}`,
    )
    for (const warning of plugin.warnings) log.warning(`plugin ${plugin.key}: ${warning}`)
    if (state.kind === "unusable" && isNamed) problems.push(`the plugin ${plugin.key} was not loaded: ${state.reason}`)
    if (state.kind === "enabled") enabled.push({ ...state, plugin })
  }
  const containment = createContainment(
    enabled.map(({ plugin }) => plugin),
    {
      home: options.home,
      limitMs: options.config.get("plugins.block_limit_seconds") * 1000,
      onFault: (key, { text, blocked }) => {
        log.error(`plugin ${key}: ${text}`)
        const plugin = loaded.find((other) => other.key === key)
        // A fault while it is loaded becomes a problem.
        if (plugin === undefined) return
        notices.push(`The plugin ${key} is disabled for this run: ${text}.`)
        cleaning.push(unload(plugin, options, { silently: blocked }))
      },
    },
  )
  for (const one of enabled) {
    const { key } = one.plugin
    const boundary = containment.boundaries.get(key)
    if (boundary === undefined) continue
    const problem = await loadOne(one, { ...options, boundary, loaded, host: () => host })
    if (problem === undefined) continue
    problems.push(`the plugin ${key} was not loaded: ${problem}`)
    note(problem)
  }
  return {
    all: () => loaded.map(({ contributions }) => contributions),
    problems,
    takeNotices: () => notices.splice(0),
    connect: (connected) => {
      host = connected
    },
    close: async () => {
      for (const plugin of loaded.toReversed()) await unload(plugin, options)
      await Promise.all(cleaning)
    },
    release: () => containment.close(),
  }
}

interface EnabledPlugin {
  readonly plugin: FoundPlugin
  readonly manifest: PluginManifest
  readonly main: string
}

async function loadOne(
  { plugin, manifest, main }: EnabledPlugin,
  options: LoadPluginsOptions & {
    readonly boundary: PluginBoundary
    readonly loaded: LoadedPlugin[]
    readonly host: () => PluginHost | undefined
  },
): Promise<string | undefined> {
  const { boundary, loaded, home, clock, log, builtins } = options
  const { key } = plugin
  const config = pluginConfig(manifest, key, options.config)
  if (typeof config === "string") return config
  const module = importModule(main, boundary)
  const early = boundary.fault()
  if (early !== undefined) return early.text
  if (typeof module === "string") return module
  const { register, deactivate } = module
  if (typeof register !== "function") return "its module exports no function `register`"
  const contributions = noContributions()
  const current: LoadedPlugin = { key, name: manifest.name, contributions, deactivate, boundary, active: true }
  const taken = (name: string): boolean =>
    loaded.some((other) => other.contributions.tools.some((tool) => tool.name === name))
  const context = createPluginContext(contributions, {
    manifest,
    config,
    hermesHome: home.path,
    dataDir: join(home.file("plugins-data"), manifest.name),
    log,
    boundary,
    host: options.host,
    isActive: () => current.active,
    reserved: {
      ...builtins,
      tool: (name) => builtins.builtinTool(name) || taken(name),
      command: (name) =>
        builtins.command(name) ||
        loaded.some((other) => other.contributions.commands.some((command) => command.name === name)),
    },
  })
  const outcome = await within(REGISTER_LIMIT_MS, clock, () => boundary.call("register", () => register(context)))
  const fault = boundary.fault()
  if (outcome === undefined && fault === undefined) {
    loaded.push(current)
    return undefined
  }
  await unload(current, options, { silently: fault?.blocked === true })
  return fault === undefined ? `register ${outcome}` : fault.text
}

interface ImportedModule {
  readonly register: unknown
  readonly deactivate: unknown
}

/** Loads the module without waiting: a module that waits at its top level is refused, so importing cannot hang. */
function importModule(main: string, boundary: PluginBoundary): ImportedModule | string {
  try {
    const module: unknown = boundary.call("its module", () => createRequire(main)(main))
    if (!isRecord(module)) return { register: module, deactivate: undefined }
    return { register: module["register"] ?? module["default"], deactivate: module["deactivate"] }
  } catch (error) {
    if (errorCode(error) === "ERR_REQUIRE_ASYNC_MODULE")
      return "its module uses `await` at the top level, which plugins cannot; move it into `register`"
    return `its module could not be loaded: ${safeMessage(error)}`
  }
}

/** Runs code of a plugin. Returns how it failed, or undefined. */
async function within(limitMs: number, clock: Clock, work: () => unknown): Promise<string | undefined> {
  const waiting = new AbortController()
  const limit = clock.sleep(limitMs, { signal: waiting.signal }).then(
    () => LATE,
    () => LATE,
  )
  try {
    const first = await Promise.race([Promise.resolve(work()), limit])
    return first === LATE ? `took longer than ${limitMs / 1000} s` : undefined
  } catch (error) {
    return `failed: ${safeMessage(error)}`
  } finally {
    waiting.abort()
  }
}

const LATE = Symbol("late")

/** `silently` calls none of its code: a plugin that has blocked Hermes would do it again. */
async function unload(
  plugin: LoadedPlugin,
  { clock, log }: Pick<LoadPluginsOptions, "clock" | "log">,
  { silently = false } = {},
): Promise<void> {
  if (!plugin.active) return
  plugin.active = false
  const { contributions, deactivate, boundary } = plugin
  const steps = silently
    ? []
    : [...contributions.disposers.toReversed(), ...(typeof deactivate === "function" ? [() => deactivate()] : [])]
  for (const list of Object.values(contributions)) list.length = 0
  for (const step of steps) {
    const problem = await within(DEACTIVATE_LIMIT_MS, clock, () => boundary.cleanUp("deactivate", step))
    if (problem !== undefined) log.warning(`plugin ${plugin.name}: deactivate ${problem}`)
  }
}

function pluginConfig(
  { name, configSchema }: PluginManifest,
  key: string,
  config: Config,
): Readonly<Record<string, unknown>> | string {
  const entries = config.get("plugins.entries")
  const entry = entries[name] ?? entries[key]
  const written = isRecord(entry) ? entry["config"] : undefined
  const given = isRecord(written) ? structuredClone(written) : {}
  if (configSchema !== undefined) {
    try {
      const checked = z.fromJSONSchema({ ...configSchema }).safeParse(given)
      if (!checked.success) {
        const [issue] = checked.error.issues
        const path = ["plugins.entries", name, "config", ...(issue?.path.map(String) ?? [])].join(".")
        return `\`${path}\` is not valid: ${issue?.message ?? "unknown problem"}`
      }
    } catch (error) {
      return `config_schema cannot be used: ${safeMessage(error)}`
    }
  }
  return deepFreeze(given)
}

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) if (isRecord(inner) || Array.isArray(inner)) deepFreeze(inner)
  return Object.freeze(value)
}

/** Enabled names for which there is no plugin. */
function missingNames(found: readonly FoundPlugin[], { config }: LoadPluginsOptions): readonly string[] {
  const known = new Set(
    found.flatMap(({ key, content }) =>
      "manifest" in content && content.manifest !== undefined ? [key, content.manifest.name] : [key],
    ),
  )
  return config
    .get("plugins.enabled")
    .filter((name) => !known.has(name) && !config.get("plugins.disabled").includes(name))
    .map((name) => `plugins.enabled names ${name}, but there is no such plugin; see \`hermes plugins list\``)
}

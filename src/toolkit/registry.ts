import type { Clock } from "../base/clock.ts"
import { fail, ok, type Result } from "../base/result.ts"
import { errorMessage } from "../base/system-error.ts"
import { isToolName } from "./tool-name.ts"
import type { ToolEntry } from "./tool.ts"

/**
 * The tools one app has. Built-in tools are registered when the app is composed; plugins and MCP servers come and go later, and
 * each change raises `generation`.
 */
export interface ToolRegistry {
  /**
   * Adds or replaces a tool. A name that another toolset owns is refused unless both are MCP toolsets (a server refresh) or
   * `override` is set; a refusal is logged and changes nothing.
   */
  register(entry: ToolEntry, options?: { readonly override?: boolean }): Result<void>
  /** False when there was no such tool. The last tool of a toolset takes the toolset's check and aliases with it. */
  deregister(name: string): boolean
  /** A second name for a toolset; an existing alias to another target is overwritten with a warning. */
  registerAlias(alias: string, toolset: string): void
  get(name: string): ToolEntry | undefined
  /** A copy that later changes do not touch. */
  snapshot(): RegistrySnapshot
  /** The tool's probe, answered at most once per 30 s and function; no probe means available, a throw means not. */
  isAvailable(entry: ToolEntry): Promise<boolean>
  /** The first probe seen for the toolset; for status screens. */
  isToolsetAvailable(toolset: string): Promise<boolean>
  /** To be called after settings, keys or logins changed. */
  invalidateCheckCache(): void
}

export interface RegistrySnapshot {
  readonly generation: number
  /** Raised by `invalidateCheckCache`. */
  readonly checkEpoch: number
  readonly tools: ReadonlyMap<string, ToolEntry>
  /** Alias to toolset. */
  readonly aliases: ReadonlyMap<string, string>
}

/** The part of a logger that the toolkit uses. */
export interface ToolkitLog {
  debug(message: string): void
  info(message: string): void
  warning(message: string): void
  error(message: string): void
}

export function createToolRegistry(options: { readonly clock: Clock; readonly log: ToolkitLog }): ToolRegistry {
  const { log } = options
  const checks = createCheckCache(options)
  const tools = new Map<string, ToolEntry>()
  const aliases = new Map<string, string>()
  const toolsetChecks = new Map<string, Check>()
  let generation = 0

  const leaveToolset = (toolset: string): void => {
    if ([...tools.values()].some((entry) => entry.toolset === toolset)) return
    toolsetChecks.delete(toolset)
    for (const [alias, target] of aliases) if (target === toolset) aliases.delete(alias)
  }

  return {
    register: (entry, { override = false } = {}) => {
      const old = tools.get(entry.name)
      const refusal = refusalOf(entry, old, override)
      if (refusal !== undefined) {
        log.error(refusal)
        return fail(refusal)
      }
      if (old !== undefined && old.toolset !== entry.toolset && override) {
        log.info(`tool ${entry.name} of toolset ${old.toolset} is now the one of ${entry.toolset}`)
      }
      tools.set(entry.name, entry)
      if (entry.available !== undefined && !toolsetChecks.has(entry.toolset)) {
        toolsetChecks.set(entry.toolset, entry.available)
      }
      if (old !== undefined && old.toolset !== entry.toolset) leaveToolset(old.toolset)
      generation += 1
      return ok(undefined)
    },
    deregister: (name) => {
      const entry = tools.get(name)
      if (entry === undefined) return false
      tools.delete(name)
      leaveToolset(entry.toolset)
      generation += 1
      return true
    },
    registerAlias: (alias, toolset) => {
      const old = aliases.get(alias)
      if (old === toolset) return
      if (old !== undefined) log.warning(`toolset alias ${alias} now means ${toolset} and no longer ${old}`)
      aliases.set(alias, toolset)
      generation += 1
    },
    get: (name) => tools.get(name),
    snapshot: () => ({ generation, checkEpoch: checks.epoch(), tools: new Map(tools), aliases: new Map(aliases) }),
    isAvailable: async (entry) => checks.ask(entry.available),
    isToolsetAvailable: async (toolset) => checks.ask(toolsetChecks.get(toolset)),
    invalidateCheckCache: () => checks.clear(),
  }
}

function refusalOf(entry: ToolEntry, old: ToolEntry | undefined, override: boolean): string | undefined {
  if (!isToolName(entry.name)) {
    return `tool "${entry.name}" of toolset ${entry.toolset} is left out: a name has 1 to 64 letters, digits and underscores`
  }
  if (old === undefined || old.toolset === entry.toolset || override) return undefined
  if (isMcpToolset(old.toolset) && isMcpToolset(entry.toolset)) return undefined
  return `tool ${entry.name} of toolset ${entry.toolset} is left out: toolset ${old.toolset} already has a tool of that name`
}

function isMcpToolset(toolset: string): boolean {
  return toolset.startsWith("mcp-")
}

type Check = () => boolean | Promise<boolean>

const CHECK_TTL_MS = 30_000

interface CheckCache {
  ask(check: Check | undefined): Promise<boolean>
  clear(): void
  epoch(): number
}

/** The promise is what is kept, so callers that ask while a probe runs share its answer. */
function createCheckCache(options: { readonly clock: Clock; readonly log: ToolkitLog }): CheckCache {
  const answers = new Map<Check, { readonly askedAt: number; readonly answer: Promise<boolean> }>()
  let epoch = 0

  const run = async (check: Check): Promise<boolean> => {
    try {
      return await check()
    } catch (error) {
      options.log.debug(`an availability probe failed, so its tools count as unavailable: ${errorMessage(error)}`)
      return false
    }
  }

  return {
    ask: async (check) => {
      if (check === undefined) return true
      const now = options.clock.now()
      const known = answers.get(check)
      if (known !== undefined && now - known.askedAt <= CHECK_TTL_MS) return known.answer
      const answer = run(check)
      answers.set(check, { askedAt: now, answer })
      return answer
    },
    clear: () => {
      answers.clear()
      epoch += 1
    },
    epoch: () => epoch,
  }
}

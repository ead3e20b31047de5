import { mkdirSync } from "node:fs"

import { isRecord, parseJson } from "../base/json.ts"
import type { Logger } from "../base/logger.ts"
import { nearest } from "../base/nearest-name.ts"
import { scanThreats } from "../knowledge/threat-scan.ts"
import { hasReservedMarks } from "../toolkit/untrusted.ts"
import { isToolName } from "../toolkit/tool-name.ts"
import type { PluginBoundary } from "./containment/containment.ts"
import { containedObject } from "./containment/contained-object.ts"
import type { PluginCapability, PluginContext, PluginManifest, PluginTool } from "./contract.ts"
import type { Contributions } from "./contributions.ts"
import { HOOK_EVENTS, isHookEvent, SILENT_EVENTS } from "./hooks/hook-events.ts"
import type { PluginHost } from "./plugin-host.ts"
import { pluginToolEntry } from "./plugin-tool.ts"

const MAX_SECTION_CHARS = 2000
const COMMAND_NAME = /^[a-z][a-z0-9_-]{0,31}$/u

export interface PluginContextOptions {
  readonly manifest: PluginManifest
  readonly config: Readonly<Record<string, unknown>>
  readonly hermesHome: string
  readonly dataDir: string
  readonly log: Logger
  readonly boundary: PluginBoundary
  readonly host: () => PluginHost | undefined
  /** False once the plugin failed or was unloaded. */
  readonly isActive: () => boolean
  /** Names that plugins cannot use. */
  readonly reserved: ReservedNames
}

export interface ReservedNames {
  /** Built-in tools and those of other plugins. */
  readonly tool: (name: string) => boolean
  readonly builtinTool: (name: string) => boolean
  readonly builtinToolset: (name: string) => boolean
  readonly command: (name: string) => boolean
  readonly cliCommand: (name: string) => boolean
  readonly modelProvider: (name: string) => boolean
}

/** The context of one plugin. What it registers goes to `contributions`; a wrong or refused registration is a warning. */
export function createPluginContext(contributions: Contributions, options: PluginContextOptions): PluginContext {
  const { manifest, log, boundary, reserved } = options
  const { name: plugin } = manifest
  const warn = (message: string): void => {
    log.warning(`plugin ${plugin}: ${message}`)
  }
  const need = (capability: PluginCapability): void => {
    if (!options.isActive()) throw new Error(`the plugin ${plugin} is not active`)
    if (!manifest.capabilities.includes(capability))
      throw new Error(`plugin.yaml of ${plugin} does not list the capability "${capability}"`)
  }
  const active = (): void => {
    if (!options.isActive()) throw new Error(`the plugin ${plugin} is not active`)
  }
  const host = (): PluginHost => {
    const connected = options.host()
    if (connected === undefined) throw new Error("no session is open")
    return connected
  }
  const undeclared = (kind: string, name: string): void => {
    const declared = manifest.provides[kind]
    if (declared !== undefined && !declared.includes(name))
      log.info(`plugin ${plugin} registers ${name}, which provides_${kind} does not list`)
  }
  const unsupported =
    (what: string, capability?: PluginCapability) =>
    (..._given: readonly unknown[]): void => {
      if (capability === undefined) active()
      else need(capability)
      warn(`${what} is not supported by this version of Hermes; the registration is ignored`)
    }
  const complete: PluginContext["llm"]["complete"] = async (request) => {
    need("llm")
    return await boundary.outside(() => host().complete(plugin, request))
  }
  const context: PluginContext = {
    manifest,
    logger: {
      debug: (message) => log.debug(`plugin ${plugin}: ${message}`),
      info: (message) => log.info(`plugin ${plugin}: ${message}`),
      warning: warn,
      error: (message) => log.error(`plugin ${plugin}: ${message}`),
    },
    hermesHome: options.hermesHome,
    get dataDir() {
      mkdirSync(options.dataDir, { recursive: true, mode: 0o700 })
      return options.dataDir
    },
    config: options.config,
    registerTool: (tool, { override = false } = {}) => {
      need("tools")
      const problem = toolProblem(tool)
      if (problem !== undefined) return warn(`${problem}; the tool is ignored`)
      undeclared("tools", tool.name)
      if (override && reserved.builtinTool(tool.name)) {
        log.info(`plugin ${plugin} replaces the built-in tool ${tool.name}`)
        contributions.overrides.push({ tool: containedObject(tool, `the tool ${tool.name}`, boundary), plugin })
        return undefined
      }
      if (reserved.tool(tool.name) || contributions.tools.some(({ name }) => name === tool.name))
        return warn(`there is already a tool ${tool.name}; the one of the plugin is ignored`)
      const { toolset = plugin } = tool
      // Permission rules for a built-in toolset must not apply to code of a plugin.
      const isTaken = reserved.builtinToolset(toolset)
      if (isTaken) warn(`the toolset ${toolset} belongs to Hermes; the tool ${tool.name} is in ${plugin}`)
      const contained = containedObject(tool, `the tool ${tool.name}`, boundary)
      contributions.tools.push(pluginToolEntry(contained, { plugin, toolset: isTaken ? plugin : toolset }))
    },
    registerPromptSection: ({ id, text }) => {
      active()
      if (typeof text !== "string" || text.trim() === "" || text.length > MAX_SECTION_CHARS)
        return warn(`the prompt section ${id} must have 1 to ${MAX_SECTION_CHARS} characters; it is ignored`)
      const threats = scanThreats(text, "context")
      if (threats.length > 0) return warn(`the prompt section ${id} is blocked: ${threats.join(", ")}`)
      if (hasReservedMarks(text))
        return warn(`the prompt section ${id} contains a mark that only Hermes may use; it is ignored`)
      contributions.promptSections.push({ id, text: text.trim() })
    },
    registerHook: (event, callback) => {
      need("hooks")
      if (typeof callback !== "function") return warn(`the hook for ${event} is not a function; it is ignored`)
      undeclared("hooks", event)
      if (!isHookEvent(event)) {
        const suggestion = nearest(event, Object.keys(HOOK_EVENTS))
        return warn(
          `there is no event ${String(event)}${suggestion === undefined ? "" : `; did you mean ${suggestion}?`}`,
        )
      }
      if (SILENT_EVENTS.has(event)) warn(`${event} does not happen in this version of Hermes`)
      contributions.listeners.push({
        owner: `plugin ${plugin}`,
        event,
        call: (payload) => boundary.call(event, () => callback(payload)),
      })
    },
    registerCommand: (command) => {
      need("commands")
      if (!COMMAND_NAME.test(command.name) || typeof command.handler !== "function")
        return warn("a slash command needs a name in lower case and a handler; it is ignored")
      undeclared("commands", command.name)
      if (reserved.command(command.name)) return warn(`there is already a command /${command.name}; it is ignored`)
      contributions.commands.push(containedObject(command, `/${command.name}`, boundary))
    },
    registerCliCommand: (command) => {
      need("cli")
      if (!COMMAND_NAME.test(command.name) || typeof command.run !== "function")
        return warn("a command needs a name in lower case and a function `run`; it is ignored")
      if (reserved.cliCommand(command.name))
        return warn(`there is already a command hermes ${command.name}; it is ignored`)
      contributions.cliCommands.push(containedObject(command, `hermes ${command.name}`, boundary))
    },
    registerMemoryProvider: (provider) => {
      active()
      if (
        typeof provider.name !== "string" ||
        !["isAvailable", "initialize", "toolSchemas"].every(
          (member) => typeof Reflect.get(provider, member) === "function",
        )
      )
        return warn("the memory provider lacks name, isAvailable, initialize or toolSchemas; it is ignored")
      contributions.memoryProviders.push(containedObject(provider, "its memory provider", boundary))
    },
    registerContextEngine: (engine) => {
      active()
      if (typeof engine.name !== "string" || typeof engine.create !== "function")
        return warn("the context engine lacks name or create; it is ignored")
      const where = "its context engine"
      contributions.contextEngines.push({
        name: engine.name,
        create: (session) => {
          const created = boundary.call(where, () => engine.create(session))
          return containedObject(created, where, boundary)
        },
      })
    },
    registerModelProvider: (provider) => {
      active()
      if (!COMMAND_NAME.test(provider.name) || !/^https?:\/\//u.test(provider.baseUrl))
        return warn("the model provider needs a name in lower case and a baseUrl; it is ignored")
      if (reserved.modelProvider(provider.name))
        return warn(`there is already a provider ${provider.name}; it is ignored`)
      const { keyEnv } = provider
      const listed = [...manifest.requiresEnv, ...manifest.optionalEnv].some(({ name }) => name === keyEnv)
      if (keyEnv !== undefined && !listed)
        return warn(`the provider ${provider.name} uses ${keyEnv}, which plugin.yaml does not list; it is ignored`)
      contributions.modelProviders.push(provider)
    },
    dispatchTool: async (name, args) => {
      need("dispatch")
      return await boundary.outside(() => host().dispatchTool(plugin, name, args))
    },
    injectMessage: (text, role = "user") => {
      need("inject")
      const message = role === "user" ? text : `[${role}] ${text}`
      return boundary.outside(() => options.host()?.injectMessage(plugin, message) ?? false)
    },
    llm: {
      complete,
      completeStructured: async ({ jsonSchema, ...request }) => {
        const wanted = `Answer with one JSON value and nothing else.${jsonSchema === undefined ? "" : ` It must match this JSON Schema: ${JSON.stringify(jsonSchema)}`}`
        const systemPrompt = [request.systemPrompt ?? "", wanted].filter((part) => part !== "").join("\n\n")
        const answer = await complete({ ...request, systemPrompt })
        const parsed = parseJson(answer.text.replace(/^\s*```(?:json)?\s*\n([^]*?)\n```\s*$/u, "$1"))
        return { ...answer, parsed, content_type: parsed === undefined ? "text" : "json" }
      },
    },
    onDispose: (dispose) => {
      active()
      contributions.disposers.push(dispose)
    },
  }
  // Members of the contract of the Python edition for which this version has no use.
  return Object.assign(context, {
    registerMiddleware: unsupported("middleware", "middleware"),
    registerPlatform: unsupported("a platform", "platform"),
    registerSkill: unsupported("a skill of a plugin"),
    registerAuxiliaryTask: unsupported("an auxiliary task"),
    registerWebProvider: unsupported("a web provider"),
    registerBrowserProvider: unsupported("a browser provider"),
    registerImageProvider: unsupported("an image provider"),
    registerVideoProvider: unsupported("a video provider"),
    registerTtsProvider: unsupported("a speech provider"),
    registerSttProvider: unsupported("a speech provider"),
  })
}

function toolProblem(tool: PluginTool): string | undefined {
  if (!isRecord(tool)) return "a tool must be an object"
  if (typeof tool.name !== "string" || !isToolName(tool.name))
    return `${JSON.stringify(tool.name)} cannot be a tool name`
  if (typeof tool.description !== "string" || typeof tool.run !== "function" || !isRecord(tool.input))
    return `the tool ${tool.name} lacks description, input (a JSON Schema) or run`
  const texts = JSON.stringify([tool.description, tool.input])
  if (hasReservedMarks(texts)) return `the description of ${tool.name} contains a mark that only Hermes may use`
  const threats = scanThreats(texts, "context")
  return threats.length === 0
    ? undefined
    : `the description of ${tool.name} contains instructions (${threats.join(", ")})`
}

import { AsyncLocalStorage } from "node:async_hooks"

import type { DispatchSession } from "../../agent/dispatch/dispatch-session.ts"
import { passDoor } from "../../agent/dispatch/door.ts"
import { prepareCall } from "../../agent/dispatch/prepare.ts"
import { Interactions } from "../../agent/interactions.ts"
import { Channel } from "../../base/channel.ts"
import type { Clock } from "../../base/clock.ts"
import { isRecord } from "../../base/json.ts"
import type { Logger } from "../../base/logger.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { ellipsize } from "../../base/text.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { Config } from "../../config/load-config.ts"
import type { Auxiliary } from "../../llm/auxiliary/auxiliary.ts"
import { findProvider } from "../../llm/providers.ts"
import { loadPlugins } from "../../plugins/load-plugins.ts"
import type { LoadedPlugins } from "../../plugins/load-plugins.ts"
import type { PluginCompletion, PluginCompletionResult } from "../../plugins/contract.ts"
import { contentText } from "../../protocol/message.ts"
import type { AgentEventBody } from "../../protocol/events.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import { TOOL_MANIFEST } from "../../tools/manifest.generated.ts"

/** The plugins of the app and the sessions that they work in. */
export interface PluginService {
  readonly loaded: LoadedPlugins
  /** Plugins act in the session that was opened or used last. */
  sessionActive(session: PluginSession): void
  sessionClosed(session: PluginSession): void
  /** A message of a plugin for the session, as the input of a separate run. */
  takeMessage(task: SessionId): string | undefined
  waitForMessage(task: SessionId, signal: AbortSignal): Promise<void>
  close(): Promise<void>
  release(): Promise<void>
}

export interface PluginSession {
  readonly taskId: SessionId
  readonly dispatch: () => DispatchSession
  readonly auxiliary: Pick<Auxiliary, "call">
  /** Messages reach the session without a user who types them. */
  readonly deliversNotices: boolean
}

export interface PluginServiceOptions {
  readonly home: Home
  readonly environment: Environment
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  readonly version: string
  readonly ownCommands?: () => Promise<OwnCommands>
}

/** Names of built-in commands. */
export interface OwnCommands {
  readonly slash: readonly string[]
  readonly cli: readonly string[]
}

const MAX_MESSAGE_CHARS = 20_000
const MAX_WAITING_MESSAGES = 20
const CALLS_PER_MINUTE = 60

/** Loads the enabled plugins. Never rejects. */
export async function openPluginService(options: PluginServiceOptions): Promise<PluginService> {
  const { config, clock, log } = options
  const own = await options.ownCommands?.()
  const loaded = await loadPlugins({
    ...options,
    cwd: process.cwd(),
    builtins: {
      builtinTool: (name) =>
        Object.hasOwn(TOOL_MANIFEST, name) || Object.values(TOOL_MANIFEST).some((tool) => tool.name === name),
      builtinToolset: (name) => Object.values(TOOL_MANIFEST).some((tool) => tool.toolset === name),
      // Surfaces look for their own commands first; here the author of the plugin gets a warning.
      command: (name) => own?.slash.includes(name) === true,
      cliCommand: (name) => own?.cli.includes(name) === true,
      modelProvider: (name) => findProvider(name) !== undefined || isRecord(config.lookup(`providers.${name}`)),
    },
  })
  let sessions: readonly PluginSession[] = []
  const messages: { readonly task: SessionId; readonly text: string }[] = []
  const waiting = new Set<() => void>()
  const dispatching = new AsyncLocalStorage<true>()
  const calls = new Map<string, number[]>()
  const current = (): PluginSession => {
    const session = sessions.at(-1)
    if (session === undefined) throw new Error("no session is open")
    return session
  }

  loaded.connect({
    dispatchTool: async (plugin, name, args) => {
      if (dispatching.getStore() === true) throw new Error("a hook of a tool call of a plugin cannot call another tool")
      return await dispatching.run(true, () => callTool({ plugin, name, args }, current(), clock))
    },
    injectMessage: (plugin, text) => {
      const session = sessions.at(-1)
      if (session?.deliversNotices !== true || text.trim() === "" || messages.length >= MAX_WAITING_MESSAGES)
        return false
      const shown = ellipsize(text, MAX_MESSAGE_CHARS)
      messages.push({
        task: session.taskId,
        text: `[Message of the plugin ${plugin}, not written by the user]\n${shown}`,
      })
      for (const wake of waiting) wake()
      return true
    },
    complete: async (plugin, request) => {
      const recent = (calls.get(plugin) ?? []).filter((time) => time > clock.now() - 60_000)
      if (recent.length >= CALLS_PER_MINUTE)
        throw new Error(`a plugin may call the model ${CALLS_PER_MINUTE} times per minute`)
      calls.set(plugin, [...recent, clock.now()])
      log.info(`plugin ${plugin} calls the model: ${ellipsize(request.purpose ?? "no purpose given", 200)}`)
      return await complete(plugin, request, { session: current(), config })
    },
  })

  return {
    loaded,
    sessionActive: (session) => {
      sessions = [...sessions.filter((other) => other.taskId !== session.taskId), session]
    },
    sessionClosed: (session) => {
      sessions = sessions.filter((other) => other.taskId !== session.taskId)
    },
    takeMessage: (task) => {
      const index = messages.findIndex((message) => message.task === task)
      return index === -1 ? undefined : messages.splice(index, 1)[0]?.text
    },
    waitForMessage: async (task, signal) => {
      const { promise, resolve } = Promise.withResolvers<undefined>()
      const wake = (): void => {
        if (signal.aborted || messages.some((message) => message.task === task)) resolve(undefined)
      }
      waiting.add(wake)
      signal.addEventListener("abort", wake, { once: true })
      wake()
      await promise
      waiting.delete(wake)
      signal.removeEventListener("abort", wake)
    },
    close: () => loaded.close(),
    release: () => loaded.release(),
  }
}

/** A call like one of the model: it passes the door. Nobody is asked, so what needs approval is denied. */
async function callTool(
  {
    plugin,
    name,
    args,
  }: { readonly plugin: string; readonly name: string; readonly args: Readonly<Record<string, unknown>> },
  session: PluginSession,
  clock: Clock,
): Promise<string> {
  const dispatch = session.dispatch()
  const { guardrails: _guardrails, ...rest } = dispatch
  const restricted = { ...rest, permissions: dispatch.permissions.restricted() }
  const id = `plugin_${plugin}_${randomHex(4)}`
  const call = { id, type: "function" as const, function: { name, arguments: JSON.stringify(args) } }
  const events = new Channel<AgentEventBody>()
  const settled = await passDoor(await prepareCall(call, restricted), restricted, {
    runId: id,
    signal: AbortSignal.timeout(600_000),
    interactions: new Interactions(clock),
    events,
    heartbeat: false,
  })
  events.close()
  const { content } = settled.result
  return typeof content === "string" ? content : contentText(content)
}

async function complete(
  plugin: string,
  request: PluginCompletion,
  { session, config }: { readonly session: PluginSession; readonly config: Config },
): Promise<PluginCompletionResult> {
  const { provider, model, purpose = "" } = request
  if (provider !== undefined) checkOverride({ plugin, what: "provider", value: provider }, config)
  if (model !== undefined) checkOverride({ plugin, what: "model", value: model }, config)
  const reply = await session.auxiliary.call({
    task: "plugin",
    messages: request.messages.map(({ role, content }) => ({ role, content })),
    ...(request.systemPrompt === undefined ? {} : { system: request.systemPrompt }),
    ...(request.maxTokens === undefined ? {} : { maxTokens: request.maxTokens }),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(provider === undefined && model === undefined
      ? {}
      : { override: { ...(provider === undefined ? {} : { provider }), ...(model === undefined ? {} : { model }) } }),
    signal: request.signal ?? AbortSignal.timeout(600_000),
  })
  if (!reply.ok) throw new Error(reply.error.message)
  const { text, runtime, usage } = reply.value
  return { text, provider: runtime.provider, model: runtime.model, usage, audit: { plugin, purpose } }
}

/** Another model than the user's costs the user's money, so the settings must allow it. */
function checkOverride(
  { plugin, what, value }: { readonly plugin: string; readonly what: "provider" | "model"; readonly value: string },
  config: Config,
): void {
  const entry = config.get("plugins.entries")[plugin]
  const access = isRecord(entry) && isRecord(entry["llm"]) ? entry["llm"] : {}
  const path = `plugins.entries.${plugin}.llm`
  if (access[`allow_${what}_override`] !== true)
    throw new Error(`not trusted: \`${path}.allow_${what}_override\` is not true`)
  const allowed = access[`allowed_${what}s`]
  if (Array.isArray(allowed) && !allowed.includes("*") && !allowed.includes(value))
    throw new Error(`not trusted: ${value} is not in \`${path}.allowed_${what}s\``)
}

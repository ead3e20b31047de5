import type { CallToolResult, Client, ContentBlock, GetPromptResult } from "@modelcontextprotocol/client"

import { orAborted } from "../../base/abort.ts"
import type { Logger } from "../../base/logger.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { ServerSettings } from "../server-settings.ts"
import type { ListedTool } from "../catalogue/pin-tools.ts"
import type { StoredPrompt } from "../catalogue/stored-server.ts"
import { createCallTimer } from "./call-timer.ts"
import type { CallTimer } from "./call-timer.ts"
import type { CallScope } from "./call-scope.ts"
import { createCircuitBreaker } from "./circuit-breaker.ts"
import { classifyFailure } from "./explain-failure.ts"
import type { ServerFailure } from "./explain-failure.ts"
import { openOAuthStore } from "./oauth-store.ts"
import { NO_SDK_LIMIT_MS, openClient } from "./open-client.ts"
import type { OpenClient, OpenClientOptions } from "./open-client.ts"
import { createSerialQueue } from "./serial-queue.ts"
import { handleServerRequests } from "./server-requests.ts"
import type { Answerer } from "./server-requests.ts"

/** One server and the connection to it. It reconnects by itself and never throws. */
export interface Connection {
  status(): ConnectionStatus
  /** Connects unless that has happened, and waits for the outcome. */
  ready(signal: AbortSignal): Promise<Result<undefined>>
  callTool(name: string, args: Readonly<Record<string, unknown>>, call: CallOptions): Promise<Result<CallToolResult>>
  listResources(call: CallOptions): Promise<Result<readonly ListedResource[]>>
  readResource(uri: string, call: CallOptions): Promise<Result<readonly ContentBlock[]>>
  getPrompt(name: string, args: Readonly<Record<string, string>>, call: CallOptions): Promise<Result<GetPromptResult>>
  /** The session that answers requests of the server while no call is running. */
  useScope(scope: CallScope | undefined): void
  close(): Promise<void>
  /** Ends a child process without waiting. */
  kill(): void
}

export interface ConnectionStatus {
  readonly state: "idle" | "connecting" | "ready" | "failed" | "needs-login" | "closed"
  /** Completes "the server …". */
  readonly problem?: string
}

export interface CallOptions {
  readonly scope: CallScope
  readonly signal: AbortSignal
  readonly onProgress?: (text: string) => void
}

export interface ListedResource {
  readonly uri: string
  readonly name: string
  readonly description?: string
  readonly mimeType?: string
  readonly isTemplate?: boolean
}

/** What a server offers. */
export interface ServerListing {
  readonly protocol: "legacy" | "modern"
  readonly hasResources: boolean
  readonly hasPrompts: boolean
  readonly tools: readonly ListedTool[]
  readonly prompts: readonly StoredPrompt[]
}

export interface ConnectionOptions extends Pick<
  OpenClientOptions,
  | "settings"
  | "home"
  | "clock"
  | "version"
  | "cwd"
  | "environment"
  | "allowPrivate"
  | "trustedHosts"
  | "onErrorOutput"
  | "login"
> {
  readonly protocol?: OpenClientOptions["protocol"]
  readonly log: Logger
  readonly redact: (text: string) => string
  /** How often a first connection is tried; default 3. */
  readonly firstAttempts?: number
  /** Refuses a server before its program is started. */
  readonly refusal?: (signal: AbortSignal) => Promise<string | undefined>
  /** Called after each connection and after each change that the server announces. */
  readonly onListing: (listing: ServerListing) => void
}

const FIRST_ATTEMPTS = 3
const RECONNECT_ATTEMPTS = 5
const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 60_000
/** All attempts of a first connection together. */
const DISCOVERY_MS = 120_000
const KEEPALIVE_MS = 180_000
const KEEPALIVE_ANSWER_MS = 30_000
const EXPIRED_SESSION_MS = 15_000

export function createConnection(options: ConnectionOptions): Connection {
  const { settings, clock, log, redact } = options
  const closing = new AbortController()
  const breaker = createCircuitBreaker(clock)
  const queue = createSerialQueue()
  const running: Answerer[] = []
  let idleScope: CallScope | undefined
  let current: OpenClient | undefined
  let connecting: Promise<Result<OpenClient>> | undefined
  let status: ConnectionStatus = { state: "idle" }
  let protocol = options.protocol

  const shown = (failure: ServerFailure): string => redact(failure.message)
  const failed = (failure: ServerFailure): Result<never> => {
    const problem = shown(failure)
    status = { state: "failed", problem }
    if (failure.kind === "login") needsLogin(failure)
    return fail(problem)
  }
  const needsLogin = ({ message, scope }: ServerFailure): void => {
    status = { state: "needs-login", problem: message }
    if (scope !== undefined) openOAuthStore(options.home, settings.name).writeRequiredScope(scope)
  }

  const open = async (): Promise<Result<OpenClient, ServerFailure>> => {
    const refused = await options.refusal?.(closing.signal)
    if (refused !== undefined) return fail({ kind: "permanent", message: `was not started: ${refused}` })
    const limit = createCallTimer(settings.connectTimeoutMs, clock)
    try {
      return await connectWithin(limit)
    } finally {
      limit.stop()
    }
  }

  const connectWithin = async (limit: CallTimer): Promise<Result<OpenClient, ServerFailure>> => {
    const signal = AbortSignal.any([closing.signal, limit.signal])
    let opened: OpenClient
    try {
      opened = await openClient({
        ...options,
        protocol,
        signal,
        onTransportError: (error) => {
          log.debug(`${settings.name}: ${errorMessage(error)}`)
        },
        prepare: (client) => {
          handleServerRequests(client, { settings, clock, log, answerer })
          client.setNotificationHandler("notifications/message", ({ params }) => {
            // Servers log the arguments that they get.
            log.debug(`${settings.name} logged ${JSON.stringify(params.data).length} characters (${params.level})`)
          })
        },
        listChanged: listChangedHandlers(settings, {
          log,
          changed: () => {
            refresh(opened).catch(() => undefined)
          },
        }),
      })
    } catch (error) {
      // The remembered handshake may be the reason, if the server was replaced by a newer one.
      protocol = undefined
      if (limit.expired)
        return fail({ kind: "lost", message: `did not answer within ${settings.connectTimeoutMs / 1000} s` })
      return fail(classifyFailure(error))
    }
    try {
      options.onListing(await listingOf(opened, settings, signal))
    } catch (error) {
      await opened.close()
      if (limit.expired)
        return fail({
          kind: "lost",
          message: `did not send its list of tools within ${settings.connectTimeoutMs / 1000} s`,
        })
      const { kind, message } = classifyFailure(error)
      return fail({ kind, message: `sent a list of tools that cannot be used: it ${message}` })
    }
    protocol = opened.protocol
    adopt(opened)
    return ok(opened)
  }

  const adopt = (opened: OpenClient): void => {
    current = opened
    status = { state: "ready" }
    opened.client.onclose = () => {
      if (current !== opened) return
      current = undefined
      if (closing.signal.aborted) return
      const reason = opened.endReason()
      log.warning(`${settings.name} ${reason ?? "closed the connection"}`)
      connect(RECONNECT_ATTEMPTS, FIRST_PAUSE_MS).catch(() => undefined)
    }
    keepAlive(opened).catch(() => undefined)
  }

  const attempts = async (count: number, firstPauseMs: number): Promise<Result<OpenClient>> => {
    const started = clock.now()
    status = { state: "connecting" }
    let pause = firstPauseMs
    for (let attempt = 1; ; attempt += 1) {
      if (pause > 0) await clock.sleep(pause, { signal: closing.signal })
      const opened = await open()
      if (opened.ok) return opened
      log.warning(`${settings.name} ${shown(opened.error)} (attempt ${attempt} of ${count})`)
      const isFinal = opened.error.kind === "permanent" || opened.error.kind === "login" || attempt >= count
      if (isFinal || closing.signal.aborted || clock.now() - started > DISCOVERY_MS) return failed(opened.error)
      pause = Math.min(pause === 0 ? FIRST_PAUSE_MS : pause * 2, LONGEST_PAUSE_MS)
    }
  }

  /** Callers at the same time share the attempts. */
  const connect = (count = options.firstAttempts ?? FIRST_ATTEMPTS, firstPauseMs = 0): Promise<Result<OpenClient>> => {
    if (connecting !== undefined) return connecting
    const started = attempts(count, firstPauseMs)
      .catch((error: unknown) => failed(classifyFailure(error)))
      .finally(() => {
        if (connecting === started) connecting = undefined
      })
    connecting = started
    return started
  }

  const opened = async (signal: AbortSignal): Promise<Result<OpenClient>> => {
    if (closing.signal.aborted) return fail("is closed")
    if (current !== undefined) return ok(current)
    return (await orAborted(connect(), signal)) ?? fail("was still connecting when the call was interrupted")
  }

  const refresh = async (from: OpenClient | undefined): Promise<void> => {
    if (from === undefined || from !== current) return
    const limit = createCallTimer(settings.connectTimeoutMs, clock)
    try {
      options.onListing(await listingOf(from, settings, AbortSignal.any([closing.signal, limit.signal])))
    } catch (error) {
      log.warning(`${settings.name}: its changed list cannot be used: ${shown(classifyFailure(error))}`)
    } finally {
      limit.stop()
    }
  }

  /** A connection may die without a sign, for example while the machine sleeps. */
  const keepAlive = async (watched: OpenClient): Promise<void> => {
    for (;;) {
      await clock.sleep(KEEPALIVE_MS, { signal: closing.signal })
      if (current !== watched) return
      const limit = createCallTimer(KEEPALIVE_ANSWER_MS, clock)
      const how = { timeout: NO_SDK_LIMIT_MS, signal: AbortSignal.any([closing.signal, limit.signal]) }
      try {
        if (watched.protocol === "legacy") await watched.client.ping(how)
        else await watched.client.discover(how)
      } catch (error) {
        if (closing.signal.aborted) return
        const why = limit.expired ? `within ${KEEPALIVE_ANSWER_MS / 1000} s` : shown(classifyFailure(error))
        log.warning(`${settings.name}: no answer to the keepalive: ${why}`)
        await watched.close()
        return
      } finally {
        limit.stop()
      }
    }
  }

  const answerer = (): Answerer | undefined =>
    running.at(-1) ?? (idleScope === undefined ? undefined : { scope: idleScope })

  const reconnectExpired = async (): Promise<boolean> => {
    const lost = current
    current = undefined
    await lost?.close()
    const limit = AbortSignal.any([closing.signal, AbortSignal.timeout(EXPIRED_SESSION_MS)])
    return (await opened(limit)).ok
  }

  const perform = async <T>(work: ClientWork<T>, call: CallOptions, isRetry = false): Promise<Result<T>> => {
    const connection = await opened(call.signal)
    if (!connection.ok) {
      breaker.failed()
      return fail(`The MCP server ${settings.name} ${connection.error}${adviceFor(status, settings.name)}`)
    }
    const timer = createCallTimer(settings.timeoutMs, clock)
    const scoped: Answerer = { scope: call.scope, timer }
    running.push(scoped)
    try {
      const value = await work(connection.value.client, {
        timeout: NO_SDK_LIMIT_MS,
        signal: AbortSignal.any([call.signal, timer.signal, closing.signal]),
        ...(call.onProgress === undefined ? {} : { onprogress: progressLine(call.onProgress) }),
      })
      breaker.succeeded()
      return ok(value)
    } catch (error) {
      if (timer.expired) {
        breaker.failed()
        return fail(
          `The MCP server ${settings.name} did not answer: timed out after ${settings.timeoutMs / 1000} s. It may have had effects.`,
        )
      }
      if (call.signal.aborted) return fail("interrupted")
      const failure = classifyFailure(error)
      if (failure.kind === "refused") {
        breaker.succeeded()
        return fail(`The MCP server ${settings.name} ${shown(failure)}`)
      }
      breaker.failed()
      if (failure.kind === "expired" && !isRetry && (await reconnectExpired())) return await perform(work, call, true)
      if (failure.kind === "login") needsLogin(failure)
      const reason = connection.value.endReason()
      const why = reason ?? shown(failure)
      return fail(
        `The MCP server ${settings.name} ${why}. The call may have had effects.${adviceFor(status, settings.name)}`,
      )
    } finally {
      timer.stop()
      running.splice(running.indexOf(scoped), 1)
    }
  }

  const request = async <T>(work: ClientWork<T>, call: CallOptions): Promise<Result<T>> => {
    const wait = breaker.secondsUntilNextCall()
    if (wait > 0)
      return fail(
        `The MCP server ${settings.name} failed several times in a row and is not called for another ${wait} s. Use something else, or try again later.`,
      )
    if (settings.parallel) return await perform(work, call)
    const queued = queue.run(() => (call.signal.aborted ? Promise.resolve(fail("interrupted")) : perform(work, call)))
    return (await orAborted(queued, call.signal)) ?? fail("interrupted")
  }

  return {
    status: () => (closing.signal.aborted ? { state: "closed" } : status),
    ready: async (signal) => {
      const result = await opened(signal)
      return result.ok ? ok(undefined) : result
    },
    callTool: (name, args, call) =>
      request((client, how) => client.callTool({ name, arguments: { ...args } }, how), call),
    listResources: (call) => request(listResources, call),
    readResource: (uri, call) => request((client, how) => readResource(client, uri, how), call),
    getPrompt: (name, args, call) =>
      request((client, how) => client.getPrompt({ name, arguments: { ...args } }, how), call),
    useScope: (scope) => {
      idleScope = scope
    },
    close: async () => {
      closing.abort()
      const open = current
      current = undefined
      await open?.close()
      await connecting?.catch(() => undefined)
    },
    kill: () => {
      closing.abort()
      current?.kill()
    },
  }
}

type CallHow = NonNullable<Parameters<Client["callTool"]>[1]>
type ClientWork<T> = (client: Client, how: CallHow) => Promise<T>

function adviceFor({ state }: ConnectionStatus, name: string): string {
  if (state === "needs-login") return ` The user can log in with: hermes mcp login ${name}`
  return state === "failed" ? ` Details are in logs/mcp-stderr.log.` : ""
}

function progressLine(show: (text: string) => void): NonNullable<CallHow["onprogress"]> {
  return ({ progress, total, message }) => {
    const share = total === undefined ? String(progress) : `${progress}/${total}`
    show(message === undefined ? `${share}\n` : `${share} ${message}\n`)
  }
}

/** The SDK waits until a burst of announcements is over. */
function listChangedHandlers(
  { tools }: ServerSettings,
  { changed, log }: { readonly changed: () => void; readonly log: Logger },
): OpenClientOptions["listChanged"] {
  const onChanged = (error: Error | null): void => {
    if (error !== null) log.debug(errorMessage(error))
    changed()
  }
  return {
    tools: { autoRefresh: false, onChanged },
    ...(tools.prompts ? { prompts: { autoRefresh: false, onChanged } } : {}),
  }
}

async function listingOf(
  { client, protocol }: OpenClient,
  settings: ServerSettings,
  signal: AbortSignal,
): Promise<ServerListing> {
  const capabilities = client.getServerCapabilities() ?? {}
  const how = { timeout: NO_SDK_LIMIT_MS, signal, cacheMode: "refresh" as const }
  const hasPrompts = capabilities.prompts !== undefined && settings.tools.prompts
  const [{ tools }, { prompts }] = await Promise.all([
    capabilities.tools === undefined ? { tools: [] } : client.listTools(undefined, how),
    hasPrompts ? client.listPrompts(undefined, how) : { prompts: [] },
  ])
  return {
    protocol,
    hasResources: capabilities.resources !== undefined && settings.tools.resources,
    hasPrompts,
    tools,
    prompts: prompts.map(({ name, description = "", arguments: given = [] }) => ({
      name,
      description,
      arguments: given.map((argument) => ({ name: argument.name, required: argument.required === true })),
    })),
  }
}

async function listResources(client: Client, how: CallHow): Promise<readonly ListedResource[]> {
  const { resources } = await client.listResources(undefined, how)
  // Templates are optional: a server that has none may refuse the request.
  const { resourceTemplates } = await client
    .listResourceTemplates(undefined, how)
    .catch(() => ({ resourceTemplates: [] }))
  return [
    ...resources.map(({ uri, name, description, mimeType }) => ({
      uri,
      name,
      ...(description === undefined ? {} : { description }),
      ...(mimeType === undefined ? {} : { mimeType }),
    })),
    ...resourceTemplates.map(({ uriTemplate, name, description, mimeType }) => ({
      uri: uriTemplate,
      name,
      ...(description === undefined ? {} : { description }),
      ...(mimeType === undefined ? {} : { mimeType }),
      isTemplate: true,
    })),
  ]
}

async function readResource(client: Client, uri: string, how: CallHow): Promise<readonly ContentBlock[]> {
  const { contents } = await client.readResource({ uri }, how)
  return contents.map((resource) => ({ type: "resource", resource }))
}

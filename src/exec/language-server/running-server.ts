import { basename } from "node:path"
import { pathToFileURL } from "node:url"

import { CancellationTokenSource, ErrorCodes, ResponseError } from "vscode-jsonrpc/node"
import type { InitializeParams } from "vscode-languageserver-protocol"

import { orAborted } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import { isRecord } from "../../base/json.ts"
import { quoteForShell } from "../../base/quote-for-shell.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Workspace } from "../workspace.ts"
import type { PositionEncoding } from "./diagnostic.ts"
import type { FoundServer } from "./find-server.ts"
import { startJsonRpcProcess } from "./json-rpc-process.ts"
import type { JsonRpcProcess } from "./json-rpc-process.ts"

/** A started language server. Its methods never throw; `ended` resolves with the reason when the server fails. */
export interface RunningServer {
  readonly found: FoundServer
  /** Resolves when the server has been initialized, or with the reason why that failed. */
  readonly ready: Promise<Result<ServerCapabilities>>
  /** Resolves with the reason when the server has exited or its connection has failed. */
  readonly ended: Promise<string>
  hasEnded(): boolean
  notify(method: string, params: object): void
  request(method: string, params: object, signal: AbortSignal): Promise<ServerResponse>
  /** Returns the last diagnostics that the server published for a document. */
  published(uri: string): Publication | undefined
  /** Whether the server has reported work in progress that has not finished. */
  isBusy(): boolean
  /** Returns the identifier for diagnostic requests; undefined when the server publishes diagnostics instead. */
  pullDiagnostics(): { readonly identifier?: string } | undefined
  /** Whether the server has registered for notifications of file changes. */
  watchesFiles(): boolean
  /** Resolves with the next publication, progress report or end of the server, or when the signal aborts. */
  nextChange(signal: AbortSignal): Promise<void>
  kill(): Promise<void>
}

export interface ServerCapabilities {
  readonly encoding: PositionEncoding
  readonly wantsSave: boolean
  /** Time when the initialization finished. */
  readonly readyAt: number
}

export interface Publication {
  readonly version: number | undefined
  readonly items: unknown
  readonly at: number
  /** Sequence number among all messages sent and received. */
  readonly order: number
}

export type ServerResponse =
  | { readonly kind: "result"; readonly value: unknown }
  /** The document has changed meanwhile or the server was not ready: the request should be repeated. */
  | { readonly kind: "retry" }
  | { readonly kind: "failed" }

export interface ServerRunOptions {
  readonly start: Workspace["start"]
  /** The directory of the packages that Hermes has installed. */
  readonly modules: string
  readonly version: string
  readonly clock: Clock
  /** Time limit for the response to `initialize`. */
  readonly startMs: number
  /** Returns the next sequence number for messages sent or received. */
  readonly nextOrder: () => number
}

const MAX_REASON_CHARS = 300
/** Some servers publish for every file of a project. */
const MAX_PUBLICATIONS = 1000
/** Error codes of the protocol that ask the client to repeat the request. */
const CONTENT_MODIFIED = -32801
const SERVER_CANCELLED = -32802

export function runServer(found: FoundServer, options: ServerRunOptions): RunningServer {
  const { clock } = options
  const changes = createNotifier()
  const publications = new Map<string, Publication>()
  const working = new Set<unknown>()
  const registered = new Map<string, { readonly method: string; readonly options: unknown }>()
  const ended = Promise.withResolvers<string>()
  let server: JsonRpcProcess | undefined
  let reason: string | undefined
  let pull: { readonly identifier?: string } | undefined

  const end = (why: string): void => {
    if (reason !== undefined) return
    reason = why
    server?.connection.dispose()
    ended.resolve(why)
    changes.notify()
  }
  const kill = async (): Promise<void> => {
    end("it was stopped")
    await server?.process.kill()
  }
  const handleRequest = (method: string, params: unknown): unknown => {
    switch (method) {
      case "workspace/configuration":
        return configurationOf(params, found.server.settings ?? {})
      case "workspace/workspaceFolders":
        return [workspaceFolder(found.root)]
      case "client/registerCapability":
        for (const { id, method: registeredMethod, registerOptions } of entriesOf(params, "registrations")) {
          registered.set(String(id), { method: String(registeredMethod), options: registerOptions })
        }
        return null
      case "client/unregisterCapability":
        for (const { id } of entriesOf(params, "unregisterations")) registered.delete(String(id))
        return null
      case "workspace/applyEdit":
        return { applied: false }
      case "window/showDocument":
        return { success: false }
      default:
        if (ACKNOWLEDGED_REQUESTS.has(method)) return null
        throw new ResponseError(ErrorCodes.MethodNotFound, `${method} is not supported`)
    }
  }
  const handleNotification = (method: string, params: unknown): void => {
    if (method !== "textDocument/publishDiagnostics" || !isRecord(params)) return
    const { uri, version, diagnostics } = params
    if (typeof uri !== "string") return
    publications.delete(uri)
    const [oldest] = publications.keys()
    if (publications.size >= MAX_PUBLICATIONS && oldest !== undefined) publications.delete(oldest)
    publications.set(uri, {
      version: typeof version === "number" ? version : undefined,
      items: diagnostics,
      at: clock.now(),
      order: options.nextOrder(),
    })
    changes.notify()
  }
  const handleProgress = (token: unknown, value: unknown): void => {
    if (!isRecord(value)) return
    if (value["kind"] === "begin") working.add(token)
    else if (value["kind"] === "end") working.delete(token)
    else return
    changes.notify()
  }
  const open = async (): Promise<Result<ServerCapabilities>> => {
    const opened = await startJsonRpcProcess(commandLine(found), { start: options.start, cwd: found.root })
    server = opened
    const { connection, process } = opened
    connection.onRequest((method, params) => handleRequest(method, params))
    connection.onNotification((method, params) => {
      handleNotification(method, params)
    })
    connection.onUnhandledProgress(({ token, value }) => {
      handleProgress(token, value)
    })
    const failWith = (why: string): void => {
      end(why)
      process.kill().catch(alreadyReported)
    }
    connection.onError(([error]) => {
      failWith(`it sent an invalid message: ${errorMessage(error)}`)
    })
    connection.onClose(() => {
      failWith("it sent a message that exceeds the size limit")
    })
    process.exit
      .then(({ code, error }) => {
        end(explainExit(code, error ?? findErrorLine(opened.errorOutput())))
      })
      .catch(alreadyReported)
    // `kill` was called during the start.
    if (reason !== undefined) {
      await process.kill()
      return fail(reason)
    }
    connection.listen()
    const response = await connection.sendRequest("initialize", initializeParams(found, options))
    const capabilities = isRecord(response) && isRecord(response["capabilities"]) ? response["capabilities"] : {}
    pull = pullOf(capabilities["diagnosticProvider"])
    await connection.sendNotification("initialized", {})
    const { settings = {} } = found.server
    if (Object.keys(settings).length > 0) {
      await connection.sendNotification("workspace/didChangeConfiguration", { settings })
    }
    return ok({
      encoding: capabilities["positionEncoding"] === "utf-8" ? "utf-8" : "utf-16",
      wantsSave: wantsSave(capabilities["textDocumentSync"]),
      readyAt: clock.now(),
    })
  }
  const timeout = new AbortController()
  const timer = setTimeout(() => {
    timeout.abort()
  }, options.startMs)
  const ready = Promise.race([orAborted(open(), timeout.signal), ended.promise.then((why) => fail(why))])
    .catch((error: unknown) => fail(errorMessage(error)))
    .then((result) => result ?? fail(`it did not respond within ${Math.round(options.startMs / 1000)} seconds`))
    .then((result) => {
      clearTimeout(timer)
      if (!result.ok) {
        end(result.error)
        server?.process.kill().catch(alreadyReported)
      }
      return result
    })

  return {
    found,
    ready,
    ended: ended.promise,
    hasEnded: () => reason !== undefined,
    notify: (method, params) => {
      if (reason === undefined) server?.connection.sendNotification(method, params).catch(alreadyReported)
    },
    request: async (method, params, signal) => {
      if (reason !== undefined || server === undefined) return { kind: "failed" }
      const cancel = new CancellationTokenSource()
      const onAbort = (): void => {
        cancel.cancel()
      }
      signal.addEventListener("abort", onAbort, { once: true })
      try {
        const sent = server.connection.sendRequest(method, params, cancel.token)
        const value: unknown = await Promise.race([orAborted(sent, signal), ended.promise.then(() => undefined)])
        return value === undefined ? { kind: "failed" } : { kind: "result", value }
      } catch (error) {
        const code = error instanceof ResponseError ? error.code : 0
        return { kind: code === CONTENT_MODIFIED || code === SERVER_CANCELLED ? "retry" : "failed" }
      } finally {
        signal.removeEventListener("abort", onAbort)
      }
    },
    published: (uri) => publications.get(uri),
    isBusy: () => working.size > 0,
    pullDiagnostics: () => {
      const dynamic = [...registered.values()].find(({ method }) => method === "textDocument/diagnostic")
      return pull ?? (dynamic === undefined ? undefined : (pullOf(dynamic.options) ?? {}))
    },
    watchesFiles: () => [...registered.values()].some(({ method }) => method === "workspace/didChangeWatchedFiles"),
    nextChange: async (signal) => {
      await orAborted(changes.next(), signal)
    },
    kill,
  }
}

/** Notifies waiting callers that something has changed. */
function createNotifier(): { notify(): void; next(): Promise<void> } {
  let pending = Promise.withResolvers<void>()
  return {
    notify: () => {
      pending.resolve()
      pending = Promise.withResolvers<void>()
    },
    next: () => pending.promise,
  }
}

/** Requests of servers that only need an empty response. */
const ACKNOWLEDGED_REQUESTS = new Set([
  "window/workDoneProgress/create",
  "window/showMessageRequest",
  "workspace/diagnostic/refresh",
  "workspace/semanticTokens/refresh",
  "workspace/inlayHint/refresh",
  "workspace/inlineValue/refresh",
  "workspace/codeLens/refresh",
  "workspace/foldingRange/refresh",
])

function alreadyReported(): void {
  // The server has ended or is about to, and `ended` resolves with the reason.
}

function commandLine({ command, server }: FoundServer): string {
  const variables = Object.entries(server.environment).map(([name, value]) => quoteForShell(`${name}=${value}`))
  return ["exec", ...(variables.length === 0 ? [] : ["env", ...variables]), ...command.map(quoteForShell)].join(" ")
}

function initializeParams({ root, server }: FoundServer, options: ServerRunOptions): InitializeParams {
  const folder = workspaceFolder(root)
  return {
    // The sandbox has its own process ids, so a server that checked Hermes' id would assume that Hermes has exited.
    processId: null,
    clientInfo: { name: "hermes", version: options.version },
    rootUri: folder.uri,
    rootPath: root,
    workspaceFolders: [folder],
    initializationOptions: {
      ...server.defaultInitializationOptions?.(options.modules),
      ...server.initializationOptions,
    },
    capabilities: {
      general: { positionEncodings: ["utf-16", "utf-8"] },
      window: { workDoneProgress: true },
      workspace: {
        configuration: true,
        workspaceFolders: true,
        didChangeConfiguration: { dynamicRegistration: true },
        didChangeWatchedFiles: { dynamicRegistration: true, relativePatternSupport: true },
        diagnostics: { refreshSupport: true },
      },
      textDocument: {
        synchronization: { didSave: true },
        publishDiagnostics: { versionSupport: true },
        diagnostic: { dynamicRegistration: true, relatedDocumentSupport: false },
      },
    },
  }
}

function workspaceFolder(root: string): { readonly uri: string; readonly name: string } {
  return { uri: pathToFileURL(root).href, name: basename(root) }
}

/** Each item requests one section (`a.b`) or all settings; the value of an unset section is null. */
function configurationOf(params: unknown, settings: Readonly<Record<string, unknown>>): readonly unknown[] {
  return entriesOf(params, "items").map(({ section }) => {
    if (typeof section !== "string" || section === "") return settings
    let found: unknown = settings
    for (const name of section.split(".")) found = isRecord(found) ? found[name] : undefined
    return found ?? null
  })
}

function entriesOf(params: unknown, field: string): readonly Record<string, unknown>[] {
  const list = isRecord(params) ? params[field] : undefined
  return Array.isArray(list) ? list.filter(isRecord) : []
}

function pullOf(provider: unknown): { readonly identifier?: string } | undefined {
  if (!isRecord(provider)) return undefined
  const { identifier } = provider
  return typeof identifier === "string" ? { identifier } : {}
}

function wantsSave(sync: unknown): boolean {
  return isRecord(sync) && (sync["save"] === true || isRecord(sync["save"]))
}

function explainExit(code: number, message: string): string {
  return `it exited with code ${code}${message === "" ? "" : `: ${message}`}`
}

/** Returns the line that looks like an error message; a stack trace often follows it. */
function findErrorLine(output: string): string {
  const lines = output
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
  return (lines.find((line) => /error|cannot|not found|unknown/iu.test(line)) ?? lines.at(-1) ?? "").slice(
    0,
    MAX_REASON_CHARS,
  )
}

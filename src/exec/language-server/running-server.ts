import { basename } from "node:path"
import { pathToFileURL } from "node:url"

import { CancellationTokenSource, ErrorCodes, ResponseError } from "vscode-jsonrpc/node"
import type { InitializeParams } from "vscode-languageserver-protocol"

import { orAborted } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import { isRecord } from "../../base/json.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { quote } from "../shell-state.ts"
import type { Workspace } from "../workspace.ts"
import type { PositionEncoding } from "./diagnostic.ts"
import type { FoundServer } from "./find-server.ts"
import { openMessageLink } from "./message-link.ts"
import type { MessageLink } from "./message-link.ts"
import { createPulse } from "./pulse.ts"

/** A language server that was started. It never throws; when it fails, `ended` says why. */
export interface RunningServer {
  readonly found: FoundServer
  /** Resolves when it can be asked, or with why it never will. */
  readonly ready: Promise<Result<ServerFacts>>
  /** Resolves with the reason when it is gone. */
  readonly ended: Promise<string>
  hasEnded(): boolean
  notify(method: string, params: object): void
  request(method: string, params: object, signal: AbortSignal): Promise<ServerAnswer>
  /** What it published last about a document. */
  published(uri: string): Publication | undefined
  /** It has told of work that has not ended yet. */
  isBusy(): boolean
  /** It wants to be asked for diagnostics, under this identifier; undefined: it publishes them. */
  pullIdentifier(): { readonly identifier?: string } | undefined
  /** It wants to hear of changes on the disk. */
  watchesFiles(): boolean
  /** Resolves when something has changed, or the signal fires. */
  change(signal: AbortSignal): Promise<void>
  kill(): Promise<void>
}

export interface ServerFacts {
  readonly encoding: PositionEncoding
  readonly wantsSave: boolean
  /** When it was ready. */
  readonly at: number
}

export interface Publication {
  readonly version: number | undefined
  readonly items: unknown
  readonly at: number
  /** Counts everything sent and received, so that it can be told what came first. */
  readonly order: number
}

export type ServerAnswer =
  | { readonly kind: "answer"; readonly value: unknown }
  /** The document has changed meanwhile or the server was not ready: worth asking again. */
  | { readonly kind: "again" }
  | { readonly kind: "refused" }

export interface RunOptions {
  readonly start: Workspace["start"]
  /** The directory of the packages that Hermes has installed. */
  readonly modules: string
  readonly version: string
  readonly clock: Clock
  /** How long it may take to answer `initialize`. */
  readonly startMs: number
  /** The next number of everything that is sent or received. */
  readonly nextOrder: () => number
}

const MAX_REASON_CHARS = 300
/** Some servers publish for every file of a project. */
const MAX_PUBLICATIONS = 1000
/** Answers of the protocol that mean "ask again". */
const CONTENT_MODIFIED = -32801
const SERVER_CANCELLED = -32802

export function runServer(found: FoundServer, options: RunOptions): RunningServer {
  const { clock } = options
  const pulse = createPulse()
  const publications = new Map<string, Publication>()
  const working = new Set<unknown>()
  const registered = new Map<string, { readonly method: string; readonly options: unknown }>()
  const ended = Promise.withResolvers<string>()
  let link: MessageLink | undefined
  let reason: string | undefined
  let pull: { readonly identifier?: string } | undefined

  const end = (why: string): void => {
    if (reason !== undefined) return
    reason = why
    link?.connection.dispose()
    ended.resolve(why)
    pulse.beat()
  }
  const kill = async (): Promise<void> => {
    end("it was ended")
    await link?.process.kill()
  }
  const answer = (method: string, params: unknown): unknown => {
    switch (method) {
      case "workspace/configuration":
        return configurationOf(params, found.server.settings ?? {})
      case "workspace/workspaceFolders":
        return [folderOf(found.root)]
      case "client/registerCapability":
        for (const one of entriesOf(params, "registrations")) {
          registered.set(String(one["id"]), { method: String(one["method"]), options: one["registerOptions"] })
        }
        return null
      case "client/unregisterCapability":
        for (const one of entriesOf(params, "unregisterations")) registered.delete(String(one["id"]))
        return null
      case "workspace/applyEdit":
        return { applied: false }
      case "window/showDocument":
        return { success: false }
      default:
        if (QUIETLY_ANSWERED.has(method)) return null
        throw new ResponseError(ErrorCodes.MethodNotFound, `${method} is not supported`)
    }
  }
  const hear = (method: string, params: unknown): void => {
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
    pulse.beat()
  }
  const heedProgress = (token: unknown, value: unknown): void => {
    if (!isRecord(value)) return
    if (value["kind"] === "begin") working.add(token)
    else if (value["kind"] === "end") working.delete(token)
    else return
    pulse.beat()
  }
  const open = async (): Promise<Result<ServerFacts>> => {
    const opened = await openMessageLink(commandLine(found), { start: options.start, cwd: found.root })
    link = opened
    const { connection, process } = opened
    connection.onRequest((method, params) => answer(method, params))
    connection.onNotification((method, params) => {
      hear(method, params)
    })
    connection.onUnhandledProgress(({ token, value }) => {
      heedProgress(token, value)
    })
    const giveUp = (why: string): void => {
      end(why)
      process.kill().catch(alreadyReported)
    }
    connection.onError(([error]) => {
      giveUp(`it sent what cannot be read: ${errorMessage(error)}`)
    })
    connection.onClose(() => {
      giveUp("it sent a message without an end")
    })
    process.exit
      .then(({ code, error }) => {
        end(explainExit(code, error ?? complaintIn(opened.errorOutput())))
      })
      .catch(alreadyReported)
    // Killed while it was being started.
    if (reason !== undefined) {
      await process.kill()
      return fail(reason)
    }
    connection.listen()
    const answered = await connection.sendRequest("initialize", initializeParams(found, options))
    const capabilities = isRecord(answered) && isRecord(answered["capabilities"]) ? answered["capabilities"] : {}
    pull = pullOf(capabilities["diagnosticProvider"])
    await connection.sendNotification("initialized", {})
    const { settings = {} } = found.server
    if (Object.keys(settings).length > 0) {
      await connection.sendNotification("workspace/didChangeConfiguration", { settings })
    }
    return ok({
      encoding: capabilities["positionEncoding"] === "utf-8" ? "utf-8" : "utf-16",
      wantsSave: wantsSave(capabilities["textDocumentSync"]),
      at: clock.now(),
    })
  }
  const patience = new AbortController()
  const timer = setTimeout(() => {
    patience.abort()
  }, options.startMs)
  const ready = Promise.race([orAborted(open(), patience.signal), ended.promise.then((why) => fail(why))])
    .catch((error: unknown) => fail(errorMessage(error)))
    .then((result) => result ?? fail(`it did not answer within ${Math.round(options.startMs / 1000)} seconds`))
    .then((result) => {
      clearTimeout(timer)
      if (!result.ok) {
        end(result.error)
        link?.process.kill().catch(alreadyReported)
      }
      return result
    })

  return {
    found,
    ready,
    ended: ended.promise,
    hasEnded: () => reason !== undefined,
    notify: (method, params) => {
      if (reason === undefined) link?.connection.sendNotification(method, params).catch(alreadyReported)
    },
    request: async (method, params, signal) => {
      if (reason !== undefined || link === undefined) return { kind: "refused" }
      const cancel = new CancellationTokenSource()
      const onAbort = (): void => {
        cancel.cancel()
      }
      signal.addEventListener("abort", onAbort, { once: true })
      try {
        const asked = link.connection.sendRequest(method, params, cancel.token)
        const value: unknown = await Promise.race([orAborted(asked, signal), ended.promise.then(() => undefined)])
        return value === undefined ? { kind: "refused" } : { kind: "answer", value }
      } catch (error) {
        const code = error instanceof ResponseError ? error.code : 0
        return { kind: code === CONTENT_MODIFIED || code === SERVER_CANCELLED ? "again" : "refused" }
      } finally {
        signal.removeEventListener("abort", onAbort)
      }
    },
    published: (uri) => publications.get(uri),
    isBusy: () => working.size > 0,
    pullIdentifier: () => {
      const dynamic = [...registered.values()].find(({ method }) => method === "textDocument/diagnostic")
      return pull ?? (dynamic === undefined ? undefined : (pullOf(dynamic.options) ?? {}))
    },
    watchesFiles: () => [...registered.values()].some(({ method }) => method === "workspace/didChangeWatchedFiles"),
    change: async (signal) => {
      await orAborted(pulse.next(), signal)
    },
    kill,
  }
}

/** Requests of servers that need no more than an answer. */
const QUIETLY_ANSWERED = new Set([
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
  // The server is gone or about to be, and `ended` says why.
}

function commandLine({ command, server }: FoundServer): string {
  const variables = Object.entries(server.environment).map(([name, value]) => quote(`${name}=${value}`))
  return ["exec", ...(variables.length === 0 ? [] : ["env", ...variables]), ...command.map(quote)].join(" ")
}

function initializeParams({ root, server }: FoundServer, options: RunOptions): InitializeParams {
  const folder = folderOf(root)
  return {
    // In the sandbox process numbers are others; a server that looks for ours would take us for gone. Its input tells it when we leave.
    processId: null,
    clientInfo: { name: "hermes", version: options.version },
    rootUri: folder.uri,
    rootPath: root,
    workspaceFolders: [folder],
    initializationOptions: { ...server.options?.(options.modules), ...server.initializationOptions },
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

function folderOf(root: string): { readonly uri: string; readonly name: string } {
  return { uri: pathToFileURL(root).href, name: basename(root) }
}

/** Each item asks for one section, `a.b` or everything; what nobody has set is null. */
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

function explainExit(code: number, said: string): string {
  return `it ended with code ${code}${said === "" ? "" : `: ${said}`}`
}

/** The line that says what is wrong; often a trace follows it. */
function complaintIn(output: string): string {
  const lines = output
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
  return (lines.find((line) => /error|cannot|not found|unknown/iu.test(line)) ?? lines.at(-1) ?? "").slice(
    0,
    MAX_REASON_CHARS,
  )
}
